// Kills the process of a registry during publishes, again and again, on the same state on disk: listed versions stay complete,
// and the same request finishes an interrupted publish.
//
// TERRACE_SEED repeats the times of an earlier run.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import { sha256 } from "./archives.mjs";
import { seededRandom, seedOfThisRun } from "./random.mjs";
import { mirrored, module, provider, saying } from "./releases.mjs";
import { before, test } from "./testing.mjs";

/** The number of earlier versions that are checked after each kill. At the end, all are checked. */
const SAMPLE = 6;

/** How each kind of release is made, its lists, and the paths with the archives of a version. */
const KINDS = {
  provider: {
    make: (version, key) => provider({ address: "acme/hello", version, key }),
    lists: ["/v1/providers/acme/hello/versions", "/mirror/127.0.0.1/acme/hello/index.json", "/v2/providers/acme/hello/tags/list"],
    downloads: (version, packages = []) => [
      `/mirror/127.0.0.1/acme/hello/${version}.json`,
      ...packages.map(({ os, arch }) => `/v1/providers/acme/hello/${version}/download/${os}/${arch}`),
    ],
  },
  module: {
    make: (version) => module({ address: "acme/greeting/aws", version, files: saying(`hello ${version}`) }),
    lists: ["/v1/modules/acme/greeting/aws/versions", "/v2/modules/acme/greeting/aws/tags/list"],
    downloads: (version) => [`/v1/modules/acme/greeting/aws/${version}/download`],
  },
  mirrored: {
    make: (version, key) => mirrored("origin.example", key, provider({ address: "acme/widget", version, key })),
    lists: ["/mirror/origin.example/acme/widget/index.json", "/v2/providers/origin.example/acme/widget/tags/list"],
    downloads: (version) => [`/mirror/origin.example/acme/widget/${version}.json`],
  },
};

/**
 * Defines the test for the suite that is being defined.
 *
 * - `registry`: it has a `pid`, and `restart` starts a new process on the same state;
 * - `kills`: the number of kills;
 * - `publishers`: the number of concurrent publishers.
 */
export function defineKills(registry, { kills, publishers }) {
  const seed = seedOfThisRun();
  const random = seededRandom(seed);
  /** The published releases. */
  const published = [];
  /** The duration of a round's publishes without a kill, in an equally new process. */
  let wholeMs;
  let key;

  before(async () => {
    key = await registry.trusts("acme");
    const unbroken = await releases(0);
    await registry.restart();
    const started = performance.now();
    await Promise.all(unbroken.map((it) => registry.publishes(it)));
    wholeMs = performance.now() - started;
    published.push(...unbroken);
  });

  /** Sends SIGKILL to workerd, which cannot handle it, and starts a new one on the same state. */
  async function kill() {
    process.kill(registry.pid, "SIGKILL");
    await registry.restart();
  }

  test(`${kills} kills lose no listed version, and the same request finishes an interrupted publish`, async (t) => {
    t.diagnostic(`TERRACE_SEED=${seed}`);
    const moments = [];
    const found = { untouched: 0, brokenOff: 0, listed: 0, done: 0 };
    for (let round = 1; round <= kills; round += 1) {
      const pending = await releases(round);
      const publishes = pending.map((it) => registry.publish(it).then(({ status }) => status, () => null));
      const moment = Math.floor(random() * wholeMs);
      moments.push(moment);
      await sleep(moment);
      await kill();
      const statuses = await Promise.all(publishes);

      const when = `kill ${round} after ${moment} ms`;
      const sample = Array.from({ length: SAMPLE }, () => published[Math.floor(random() * published.length)]);
      for (const it of sample.filter(Boolean)) await isWhole(it, when);
      for (const [number, it] of pending.entries()) {
        const listed = await isListed(it);
        if (statuses[number] !== null) {
          assert.equal(statuses[number], 201, it.path);
          assert.ok(listed, `${when}: ${it.path} was published`);
        }
        if (listed) await isWhole(it, when);
        found[statuses[number] ? "done" : listed ? "listed" : (await isThere(it)) ? "brokenOff" : "untouched"] += 1;
        const { status, answer } = await registry.publish(it);
        assert.ok([200, 201].includes(status), `${when}: ${it.path} again: ${status} ${JSON.stringify(answer)}`);
        await isWhole(it, `${when}, again`);
        published.push(it);
      }
    }
    for (const it of published) await isWhole(it, "at the end");
    t.diagnostic(`${kills} kills after ${moments.join(", ")} of ${wholeMs.toFixed(0)} ms; publishes: ${JSON.stringify(found)}`);
  });

  /** Creates a release for each publisher: versions of providers, modules and mirrored providers in turn. */
  function releases(round) {
    return Promise.all(
      Array.from({ length: publishers }, async (_, number) => {
        const version = `${round}.${number}.1`;
        const kind = KINDS[["provider", "module", "mirrored", "provider"][number % 4]];
        return { ...(await kind.make(version, key)), ...kind, version };
      }),
    );
  }

  /** Returns whether the lists of this kind contain the version: all of them must, or none. */
  async function isListed({ lists, version }) {
    const texts = await Promise.all(lists.map((path) => textOf(path)));
    return texts.every((text) => text.includes(`"${version}"`));
  }

  async function isThere({ downloads, version }) {
    const { status } = await registry.request(downloads(version)[0]);
    return status === 200;
  }

  async function textOf(path) {
    const response = await registry.request(path);
    assert.ok([200, 404].includes(response.status), `${path} answers ${response.status}`);
    return response.text();
  }

  /** Checks that every download of a version works and returns the published bytes. */
  async function isWhole(it, when) {
    assert.ok(await isListed(it), `${when}: ${it.path} is listed`);
    const digests = [];
    for (const path of it.downloads(it.version, it.body.packages)) {
      const answer = await registry.json(path);
      for (const url of urlsIn(answer)) {
        const response = await fetch(url);
        assert.equal(response.status, 200, `${when}: ${url}`);
        digests.push(sha256(Buffer.from(await response.arrayBuffer())));
      }
    }
    for (const digest of it.archives.keys()) assert.ok(digests.includes(digest), `${when}: ${it.path} has its bytes`);
  }
}

function urlsIn(answer) {
  const named = [answer.download_url, answer.shasums_url, answer.shasums_signature_url, answer.location];
  const archives = Object.values(answer.archives ?? {}).map(({ url }) => url);
  return [...named, ...archives].filter(Boolean).map((url) => url.replace(/[?&]checksum=[^&]*$/, ""));
}
