// Downloads through the entrypoint that the platform caches, in workerd, which does not have that cache: every request runs both
// halves. `npm run acceptance` tests the cache itself.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";

import { HOST, usingModule, withEachClient } from "../support/client.mjs";
import { module, saying } from "../support/releases.mjs";
import { before, describe, test } from "../support/testing.mjs";
import { useWatchedRegistry } from "../support/watched.mjs";

const ADDRESS = "acme/large/aws";
const SOME_MEGABYTES = 3 * 1024 * 1024;

/** The size of the smallest archive that is too large for the cache: one byte above `CACHED_ARCHIVE_BYTES`. */
const BEYOND_THE_CACHE = 512 * 1000 * 1000 + 1;

/** Returns a new URL of the archive, without the checksum that clients verify and remove. */
async function urlOf(registry) {
  const response = await registry.request(`/v1/modules/${ADDRESS}/1.0.0/download`);
  const location = new URL(response.headers.get("x-terraform-get"), registry.url);
  location.search = "";
  return location.href;
}

describe("a registry that serves archives from the edge", () => {
  const registry = useWatchedRegistry({ mode: "edge" });
  const release = module({ address: ADDRESS, version: "1.0.0", files: { ...saying("large"), "random.bin": randomBytes(SOME_MEGABYTES) } });
  const [[digest, bytes]] = release.archives;
  let url;

  before(async () => {
    await registry.publishes(release);
    url = await urlOf(registry);
  });

  /** Returns the answer to a request, and the paths of the requests and the operations that it caused. */
  async function watching(init) {
    await registry.watched();
    const response = await fetch(url, init);
    const body = Buffer.from(await response.arrayBuffer());
    const { requests, operations } = await registry.watched();
    return { response, body, paths: requests.map(({ path }) => path), operations: operations.map(({ name, key }) => `${name} ${key}`) };
  }

  test("sends the archive as the entrypoint has it, by one read of the bucket", async () => {
    await fetch(url);
    const { response, body, paths, operations } = await watching();
    assert.equal(response.status, 200);
    assert.ok(bytes.equals(body));
    assert.deepEqual(paths, [new URL(url).pathname, `/${digest}.zip`]);
    assert.deepEqual(operations, [`R2 get archives/${digest}.zip`]);
    for (const name of ["cache-tag", "etag", "set-cookie", "content-encoding"]) assert.equal(response.headers.get(name), null, name);
  });

  test("leads to the bucket for an archive that the cache cannot keep", async (t) => {
    await registry.statesSize(BEYOND_THE_CACHE);
    t.after(() => registry.statesSize(null));
    const { response, body, paths, operations } = await watching({ redirect: "manual" });
    assert.deepEqual([response.status, response.headers.get("cache-control"), body.length], [302, "no-store", 0]);
    assert.deepEqual(paths, [new URL(url).pathname, `/${digest}.zip`]);
    assert.deepEqual(operations, [`R2 get archives/${digest}.zip`]);
    const location = new URL(response.headers.get("location"));
    assert.equal(location.origin, registry.archiveOrigin);
    assert.ok(location.pathname.endsWith(`/archives/${digest}.zip`), location.pathname);
    const [, , until] = new URL(url).pathname.split("/");
    const signed = location.searchParams.get("X-Amz-Date").replace(/^(....)(..)(..T..)(..)/, "$1-$2-$3:$4:");
    const lifetime = Number(location.searchParams.get("X-Amz-Expires"));
    assert.ok(Date.parse(signed) / 1000 + lifetime <= Number(until), `${location} is valid longer than ${url}`);
    assert.ok(bytes.equals(Buffer.from(await (await fetch(location)).arrayBuffer())));
    const part = await fetch(url, { headers: { range: "bytes=0-9" } });
    assert.ok(bytes.subarray(0, 10).equals(Buffer.from(await part.arrayBuffer())));
    const head = await watching({ method: "HEAD", redirect: "manual" });
    assert.deepEqual([head.response.status, head.response.headers.get("content-length")], [200, String(BEYOND_THE_CACHE)]);
    await registry.statesSize(BEYOND_THE_CACHE - 1);
    const largest = await fetch(url, { redirect: "manual" });
    assert.equal(largest.status, 200, "the largest archive that the cache keeps");
    await largest.body.cancel();
  });

  withEachClient((client) => {
    test("init installs a module from the edge", async (t) => {
      const work = await client.workspace(t, registry, { "main.tf": usingModule(`${HOST}/${ADDRESS}`, "1.0.0") });
      await work.runs("init");
      assert.match(await work.read(".terraform/modules/wanted/main.tf"), /large/);
    });
  });
});
