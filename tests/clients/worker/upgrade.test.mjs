// Two versions of the Worker over one state: an upgrade, and the way back. And a state whose KV namespace is lost.
//
// TERRACE_OLDER_WORKER names the directory of an older built Worker, such as that of the last release, which CI fetches. Without it,
// the same Worker is stopped and started, and only the steps are tested.
import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { newSecrets } from "../../../scripts/server.mjs";
import { registryOf } from "../support/registry.mjs";
import { module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { describe, test } from "../support/testing.mjs";

const OLDER = process.env.TERRACE_OLDER_WORKER;

/** A package names its compatibility date; a build directory has that of the checkout. */
async function older() {
  if (!OLDER) return undefined;
  const main = resolve(OLDER, "index.js");
  const needs = await readFile(join(OLDER, "requirements.json"), "utf8").then(JSON.parse, () => null);
  return needs ? { main, compatibilityDate: needs.compatibility_date } : { main };
}

/** After the first document of a newer format, changes are refused for a minute. */
const PATIENCE_MS = 90_000;

const MODULE = "acme/vpc/aws";
const PROVIDER = "acme/widget";

describe("a registry over one state", () => {
  const release = (version) => module({ address: MODULE, version, files: saying(version) });

  /** Publishes a release, and waits until a newer version writes. */
  async function publishes(registry, publication) {
    for (const until = Date.now() + PATIENCE_MS; ; await sleep(2_000)) {
      const { status, answer } = await registry.publish(publication);
      if (status === 503 && Date.now() < until) continue;
      return { status, answer };
    }
  }

  /** Returns all that a client sees of the module and the provider. */
  async function seen(registry) {
    const { modules } = await registry.json(`/v1/modules/${MODULE}/versions`);
    const { versions } = await registry.json(`/v1/providers/${PROVIDER}/versions`);
    const found = { module: modules[0].versions.map(({ version }) => version).sort(), provider: versions };
    for (const version of found.module) {
      const response = await registry.request(`/v1/modules/${MODULE}/${version}/download`);
      const location = new URL(response.headers.get("x-terraform-get"), registry.url);
      const archive = await fetch(location);
      assert.deepEqual([response.ok, archive.status], [true, 200], version);
      await archive.arrayBuffer();
    }
    return found;
  }

  test("keeps all versions through an upgrade and the way back, and each version can write", { timeout: 300_000 }, async (t) => {
    const stateDir = scratch(t);
    const secrets = newSecrets();
    const start = (worker) => registryOf(t, { stateDir, secrets, worker });

    const before = await start(await older());
    const key = await before.trusts("acme");
    await before.publishes(release("1.0.0"), provider({ address: PROVIDER, version: "1.0.0", key }));
    const first = await seen(before);
    assert.deepEqual(first.module, ["1.0.0"]);
    await before.stop();

    const after = await start();
    assert.deepEqual(await seen(after), first);
    const upgraded = await publishes(after, release("2.0.0"));
    assert.equal(upgraded.status, 201, JSON.stringify(upgraded.answer));
    const second = await seen(after);
    assert.deepEqual(second.module, ["1.0.0", "2.0.0"]);
    await after.stop();

    const back = await start(await older());
    assert.deepEqual(await seen(back), second);
    const { status, answer } = await publishes(back, release("3.0.0"));
    // An older version writes, or it says which version may.
    if (status !== 201) assert.match(JSON.stringify([status, answer]), /^\[409,.*can only be changed by Terrace \d+\.\d+\.\d+ or newer/);
    else assert.deepEqual((await seen(back)).module, ["1.0.0", "2.0.0", "3.0.0"]);
  });

  test("has the indices that KV lost rewritten by the scheduled event", async (t) => {
    const stateDir = scratch(t);
    const secrets = newSecrets();
    // One step of the repair then visits all facts.
    const start = () => registryOf(t, { stateDir, secrets, vars: { TERRACE_REPAIR_OPERATIONS: "800" } });
    const before = await start();
    const key = await before.trusts("acme");
    await before.publishes(release("1.0.0"), provider({ address: PROVIDER, version: "1.0.0", key }));
    const wanted = await seen(before);
    await before.stop();
    await rm(join(stateDir, "state", "v3", "kv"), { recursive: true });

    const after = await start();
    const log = () => readFile(after.logFile, "utf8");
    for (let step = 1; !/repair: .*; complete/.test(await log()); step += 1) {
      assert.ok(step < 20, "the repair is not completed");
      const event = await after.request("/cdn-cgi/handler/scheduled");
      assert.equal(event.status, 200, await event.text());
    }
    assert.match(await log(), /repair: \d+ checked, [1-9]\d* rewritten/);
    assert.deepEqual((await after.report(["admin", "reindex"])).rewritten, []);
    assert.deepEqual(await seen(after), wanted);
  });
});
