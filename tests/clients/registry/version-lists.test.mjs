// A version list is passed through without parsing, so a long list costs the Worker as much as a short one.
import assert from "node:assert/strict";

import { HERE, provider } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, describe, test } from "../support/testing.mjs";
import { useWatchedRegistry } from "../support/watched.mjs";

const VERSIONS = 5_000;
const ROUNDS = 40;
/**
 * The number of objects that the simulator lists at once with their metadata. R2 documents only that it may
 * be fewer than 1,000.
 */
const PAGE = 100;
/** The usual platforms of a provider, so that the list has its usual size. */
const PLATFORMS =
  "darwin_amd64,darwin_arm64,freebsd_386,freebsd_amd64,freebsd_arm,freebsd_arm64,linux_386,linux_amd64,linux_arm,linux_arm64,windows_386,windows_amd64,windows_arm64";

/** For each protocol, the list of one version and that of many. */
const LISTS = {
  registry: ["/v1/providers/acme/one/versions", "/v1/providers/acme/many/versions"],
  mirror: ["/mirror/127.0.0.1/acme/one/index.json", "/mirror/127.0.0.1/acme/many/index.json"],
};
const [, MANY] = LISTS.registry;

/** The metadata of published versions in the bucket, as far as version lists use it. */
const releases = (count) =>
  Array.from({ length: count }, (_, patch) => ({
    key: `releases/providers/hosted/acme/many/1.0.${patch}`,
    text: "{}",
    metadata: { protocols: "5.0,6.0", platforms: PLATFORMS, contents: "0123456789" },
  }));

describe(`a list of ${VERSIONS} versions`, () => {
  const registry = useWatchedRegistry({ quick: true });
  const keyDirectory = scratch();
  let release;

  before(async () => {
    const key = await newKey(keyDirectory);
    await registry.trusts("acme", key);
    await registry.publishes(provider({ address: "acme/one", version: "1.0.0", key }));
    release = await provider({ address: "acme/many", version: "2.0.0", key });
    await registry.store(releases(VERSIONS - 1));
  });

  test("is built by the publish of the last version, from pages of the listing, without reading another release", async (t) => {
    await registry.watched();
    const started = performance.now();
    await registry.publishes(release);
    const elapsed = performance.now() - started;
    const { operations, wasmBytes } = await registry.watched();
    const of = (name) => operations.filter((operation) => operation.name === name);
    const listed = of("R2 list").map(({ key }) => key);
    const pages = listed.filter((key) => key.startsWith("releases/")).length;
    t.diagnostic(`publishing version ${VERSIONS}: ${pages} list pages, ${elapsed.toFixed(0)} ms, then ${megabytes(wasmBytes)} MB of wasm memory`);
    assert.equal(pages, Math.ceil(VERSIONS / PAGE));
    // Each request checks once whether an archive is being removed. The overview needs the documented versions. Cards are listed after
    // the response.
    const besides = listed.filter((key) => !/^(releases|cards)\//.test(key));
    assert.deepEqual(besides, ["garbage/", "garbage/", "docs/providers/hosted/acme/many/"]);
    const others = of("R2 get").filter(({ key }) => key.startsWith("releases/") && !key.endsWith("/2.0.0"));
    assert.deepEqual(others, []);
    const { versions } = await registry.json(MANY);
    assert.equal(versions.length, VERSIONS);
    assert.equal(versions.at(-1).version, "2.0.0");
    assert.ok(versions.at(-1).platforms.some(({ os, arch }) => `${os}_${arch}` === HERE));
  });

  for (const [protocol, [ONE, MANY]] of Object.entries(LISTS)) {
    test(`of the ${protocol} takes the same operation, no more wasm memory and no more time than a list of one`, async (t) => {
      await registry.restart();
      const { wasmBytes: before } = await registry.watched();
      const times = await timesToHeaders([ONE, MANY]);
      const { operations, wasmBytes: after } = await registry.watched();
      assert.deepEqual(new Set(operations.map(({ name }) => name)), new Set(["KV getWithMetadata"]));
      assert.equal(operations.length, 2 * ROUNDS);
      assert.equal(after, before, "the list passes through wasm memory, which never shrinks");

      const [one, many] = [ONE, MANY].map((path) => Math.min(...times[path]));
      const medians = [ONE, MANY].map((path) => `${median(times[path]).toFixed(2)} ms`).join(" and ");
      t.diagnostic(
        `time to the headers, the minimum of ${ROUNDS}: ${one.toFixed(2)} ms for 1 version, ${many.toFixed(2)} ms for ${VERSIONS}, ` +
          `ratio ${(many / one).toFixed(2)} (medians: ${medians}); ${megabytes(before)} MB of wasm memory before and after`,
      );
      assert.ok(many < 3 * one, `${many} ms against ${one} ms`);
    });
  }

  /**
   * Alternates between the paths, so that other load on the machine affects all of them. Answers are not
   * compressed, because workerd would do that and not the Worker.
   */
  async function timesToHeaders(paths) {
    const times = Object.fromEntries(paths.map((path) => [path, []]));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const path of paths) {
        const started = performance.now();
        const response = await registry.request(path, { headers: { "accept-encoding": "identity" } });
        times[path].push(performance.now() - started);
        await response.arrayBuffer();
      }
    }
    return times;
  }
});

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const megabytes = (bytes) => (bytes / 1e6).toFixed(2);
