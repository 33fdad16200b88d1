// The storage operations of pages, on workerd.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import { MODULE, PAGES, PROVIDER, publishCatalogue } from "../support/catalogue.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, describe, test } from "../support/testing.mjs";
import { useWatchedRegistry } from "../support/watched.mjs";

/** The pages whose text is in an archive, which takes one ranged read of R2. */
const FROM_ARCHIVES = ["the first document of a provider", "a document", "a guide", "an example"];

describe("the storage operations of pages", () => {
  const registry = useWatchedRegistry();
  const directory = scratch();
  before(() => publishCatalogue(registry, directory), "publishing");

  /** Reads a page, and waits: the first reader of a minute looks for changes of the catalogue, after the response. */
  async function settled(path) {
    await registry.operationsOf(path);
    while ((await registry.watched()).operations.length > 0) await sleep(100);
  }

  for (const [name, { path, status = 200, readsNothing }] of Object.entries(PAGES)) {
    if (readsNothing) {
      test(`${name} takes no operation`, async () => {
        const found = await registry.operationsOf(path);
        assert.deepEqual([found.status, found.operations], [200, []]);
      });
      continue;
    }
    const isFromArchive = FROM_ARCHIVES.includes(name);
    const takes = isFromArchive ? "one operation of KV, and one of R2" : "one operation of KV";
    if (status === 200) test(`${name} takes ${takes}`, async () => {
      await settled(path);
      const found = await registry.operationsOf(path);
      assert.equal(found.status, 200);
      const [first, ...others] = found.operations;
      assert.match(first, /^KV get/);
      assert.deepEqual(others, isFromArchive ? ["R2 get"] : []);
    });
  }

  test("a page that the browser already has takes the same operation", async () => {
    const path = `/modules/${MODULE}/1.2.0`;
    const { headers } = await registry.request(path);
    const { status, operations } = await registry.operationsOf(path, { headers: { "if-none-match": headers.get("etag") } });
    assert.equal(status, 304);
    assert.equal(operations.length, 1);
  });

  test("a badge, a feed and a redirect to the newest version take one operation of KV", async () => {
    const paths = [`/badges/modules/${MODULE}/version.svg`, "/feed.atom", "/namespaces/acme/feed.atom", `/providers/${PROVIDER}/feed.atom`, `/providers/${PROVIDER}/latest/docs`];
    for (const path of paths) {
      await settled(path);
      const { operations } = await registry.operationsOf(path, { redirect: "manual" });
      assert.equal(operations.length, 1, `${path}: ${operations}`);
      assert.match(operations[0], /^KV get/, path);
    }
  });

  test("files of the pages, and addresses without a page, take no operation", async () => {
    const html = await (await registry.request("/")).text();
    const assets = [...html.matchAll(/"(\/_assets\/[^"]+)"/g)].map(([, path]) => path);
    assert.ok(assets.length >= 3, html);
    for (const path of [...assets, "/robots.txt", "/opensearch.xml", "/nothing/here"]) {
      const { operations } = await registry.operationsOf(path);
      assert.deepEqual(operations, [], path);
    }
  });
});
