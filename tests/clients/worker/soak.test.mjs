// Runs everything concurrently for a while: publishers, readers, status changes of releases and repair; at
// the end all data are verified. `npm run soak` does so for ten minutes, `npm run test:more` for less than one.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { module, provider, saying } from "../support/releases.mjs";
import { before, describe, test } from "../support/testing.mjs";
import { useWatchedRegistry } from "../support/watched.mjs";

const SECONDS = Number(process.env.TERRACE_SOAK_SECONDS ?? 25);
const MODULES = ["acme/net/aws", "acme/dns/aws", "acme/vm/gcp"];
const PROVIDER = "acme/hello";
const STATES = ["deprecated", "withdrawn", "active"];
/** What an isolate's memory settles at after its first half minute, when its caches are full. */
const SETTLED_BYTES = 6 * 1024 * 1024;
/** Wasm memory never shrinks, and one more allocator page is not a leak. */
const GROWTH_BYTES = 2 * 1024 * 1024;

describe(`a registry under mixed load for ${SECONDS} seconds`, () => {
  const registry = useWatchedRegistry({ vars: { TERRACE_LOG_REQUESTS: "failures" } });
  const published = new Map([...MODULES, PROVIDER].map((address) => [address, []]));
  const counts = { publishes: 0, statuses: 0, reindexed: 0, reads: 0 };
  const memory = [];
  let key;

  before(async () => {
    key = await registry.trusts("acme");
  });

  /** Sends a request of an admin, and retries it when the registry asks for that. */
  async function administer(method, path, body) {
    for (;;) {
      const { status, answer } = await registry.admin(method, path, JSON.stringify(body));
      if (status !== 503) return { status, answer };
      await sleep(500);
    }
  }

  const versionsPath = (address) => `/v1/${address === PROVIDER ? "providers" : "modules"}/${address}/versions`;
  const adminPath = (address) => `/admin/v1/${address === PROVIDER ? "providers" : "modules"}/${address}`;
  const any = (list) => list[Math.floor(Math.random() * list.length)];

  async function listed(address) {
    const json = await registry.json(versionsPath(address));
    return (address === PROVIDER ? json.versions : json.modules[0].versions).map(({ version }) => version);
  }

  async function publisher(address, until) {
    for (let patch = 0; Date.now() < until; patch += 1) {
      const version = `1.0.${patch}`;
      const release =
        address === PROVIDER
          ? provider({ address, version, key })
          : module({ address, version, files: saying(`${address} ${version}`) });
      for (let status = 503; status === 503; ) ({ status } = await registry.publish(release));
      published.get(address).push(version);
      counts.publishes += 1;
      await sleep(400);
    }
  }

  async function reader(until) {
    while (Date.now() < until) {
      const address = any([...published.keys()]);
      const known = [...published.get(address)];
      if (known.length > 0) {
        const found = await listed(address);
        for (const version of known) assert.ok(found.includes(version), `${address} ${version} is not in ${found}`);
        const version = any(known);
        const path = address === PROVIDER ? `${versionsPath(address).replace("versions", version)}/download/linux/amd64` : `/v1/modules/${address}/${version}/download`;
        const { status } = await registry.request(path);
        assert.ok(status === 200 || (address === PROVIDER && status === 404), `${path}: ${status}`);
        counts.reads += 2;
      }
      await sleep(20);
    }
  }

  async function speaker(until) {
    while (Date.now() < until) {
      const address = any([...published.keys()]);
      const version = any(published.get(address));
      if (version) {
        const body = { state: any(STATES), reason: "a soak" };
        const { status, answer } = await administer("PUT", `${adminPath(address)}/${version}/status`, body);
        assert.equal(status, 200, JSON.stringify(answer));
        counts.statuses += 1;
      }
      await sleep(700);
    }
  }

  /** Walks the registry step by step to its end; returns the answers of the steps. */
  async function walk(path) {
    const steps = [];
    for (let after; ; ) {
      const { status, answer } = await administer("POST", path, { after });
      assert.equal(status, 200, JSON.stringify(answer));
      steps.push(answer);
      if (!answer.next) return steps;
      after = answer.next;
    }
  }

  async function repairer(until) {
    while (Date.now() < until) {
      const steps = await walk("/admin/v1/reindex");
      assert.deepEqual(steps.flatMap(({ failed }) => failed), []);
      counts.reindexed += 1;
      await sleep(1_000);
    }
  }

  async function measure(until) {
    while (Date.now() < until) {
      const { wasmBytes } = await registry.watched();
      const status = await readFile(`/proc/${registry.pid}/status`, "utf8").catch(() => "");
      memory.push({ wasmBytes, resident: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024 });
      await sleep(Math.min(5_000, SECONDS * 50));
    }
  }

  test("answers all requests, and its memory does not grow", { timeout: (SECONDS + 600) * 1000 }, async (t) => {
    const until = Date.now() + SECONDS * 1_000;
    await Promise.all([
      ...[...published.keys()].map((address) => publisher(address, until)),
      ...[reader(until), reader(until), reader(until), speaker(until), repairer(until), measure(until)],
    ]);
    const [early, last] = [memory[Math.floor(memory.length / 3)], memory.at(-1)];
    t.diagnostic(JSON.stringify({ ...counts, early, last }));
    assert.ok(counts.publishes > SECONDS / 2 && counts.reads > SECONDS, JSON.stringify(counts));
    assert.ok(last.wasmBytes <= Math.max(early.wasmBytes, SETTLED_BYTES) + GROWTH_BYTES, JSON.stringify(memory));
  });

  test("has lost nothing: indices match the facts, archives match their digests, and the audit log is complete", async () => {
    for (const [address, versions] of published) assert.deepEqual(new Set(await listed(address)), new Set(versions));
    const rewritten = (await walk("/admin/v1/reindex")).flatMap((step) => [...step.rewritten, ...step.removed, ...step.failed]);
    // The merged catalogue waits for its turn.
    assert.deepEqual(rewritten.filter((name) => name !== "merged-catalog/1"), []);
    await registry.terrace(["admin", "verify"]);
    await registry.terrace(["admin", "audit", "--verify"]);
  });
});
