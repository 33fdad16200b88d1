// Downloads through the entrypoint that the platform caches, in workerd, which does not have that cache: every request runs both
// halves. `npm run acceptance` tests the cache itself.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

import { HOST, usingModule, withEachClient } from "../support/client.mjs";
import { useRegistry } from "../support/registry.mjs";
import { module, saying } from "../support/releases.mjs";
import { before, describe, test } from "../support/testing.mjs";
import { useWatchedRegistry } from "../support/watched.mjs";

const ADDRESS = "acme/large/aws";
const SOME_MEGABYTES = 3 * 1024 * 1024;

/** The size of the smallest archive that is too large for the cache: one byte above `CACHED_ARCHIVE_BYTES`. */
const BEYOND_THE_CACHE = 512 * 1000 * 1000 + 1;

/** In seconds: a lifetime of URLs that a test can outlast. */
const LIFETIME = 2;

const largeModule = (version) => module({ address: ADDRESS, version, files: { ...saying("large"), "random.bin": randomBytes(SOME_MEGABYTES) } });

/** Returns a new URL of the archive, without the checksum that clients verify and remove. */
async function urlOf(registry, version = "1.0.0") {
  const response = await registry.request(`/v1/modules/${ADDRESS}/${version}/download`);
  const location = new URL(response.headers.get("x-terraform-get"), registry.url);
  location.search = "";
  return location.href;
}

describe("a registry that serves archives from the edge", () => {
  const registry = useWatchedRegistry({ mode: "edge" });
  const release = largeModule("1.0.0");
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
    const { headers } = response;
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("content-length"), String(bytes.length));
    assert.equal(headers.get("content-type"), "application/zip");
    assert.equal(headers.get("content-disposition"), "attachment");
    for (const name of ["cache-tag", "etag", "set-cookie", "content-encoding"]) assert.equal(headers.get(name), null, name);
  });

  test("sends the headers alone, and parts", async () => {
    const head = await watching({ method: "HEAD" });
    assert.deepEqual([head.response.status, head.response.headers.get("content-length"), head.body.length], [200, String(bytes.length), 0]);
    assert.deepEqual(head.operations, [`R2 head archives/${digest}.zip`]);
    for (const [range, from, to] of [["bytes=0-0", 0, 1], ["bytes=1000-1999", 1000, 2000], ["bytes=-5", bytes.length - 5, bytes.length]]) {
      const { response, body } = await watching({ headers: { range } });
      assert.deepEqual([response.status, response.headers.get("content-range")], [206, `bytes ${from}-${to - 1}/${bytes.length}`]);
      assert.ok(bytes.subarray(from, to).equals(body), range);
    }
    const beyond = await watching({ headers: { range: `bytes=${bytes.length}-` } });
    assert.equal(beyond.response.status, 416);
  });

  test("requires the signature each time, whatever else the request has", async () => {
    const [, , expires, signature] = new URL(url).pathname.split("/");
    const tampered = [
      url.replace(signature, "0".repeat(64)),
      url.replace(expires, String(Number(expires) + 1)),
      url.replace(digest, "0".repeat(64)),
      url.replace(".zip", ".tar.gz"),
    ];
    for (const changed of tampered) {
      for (const method of ["GET", "HEAD"]) {
        const headers = { authorization: `Bearer ${registry.secrets.adminToken}`, range: "bytes=0-0" };
        await registry.watched();
        const response = await fetch(changed, { method, headers });
        assert.equal(response.status, 403, `${method} ${changed}`);
        const { requests } = await registry.watched();
        assert.equal(requests.length, 1, "a rejected request reaches no other entrypoint");
      }
    }
    assert.equal((await fetch(url)).status, 200);
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
    const part = await watching({ redirect: "manual", headers: { range: "bytes=0-9" } });
    assert.equal(part.response.status, 302);
    const followed = await fetch(url, { headers: { range: "bytes=0-9" } });
    assert.ok(bytes.subarray(0, 10).equals(Buffer.from(await followed.arrayBuffer())));
    const head = await watching({ method: "HEAD", redirect: "manual" });
    assert.deepEqual([head.response.status, head.response.headers.get("content-length")], [200, String(BEYOND_THE_CACHE)]);
    const [, , , signature] = new URL(url).pathname.split("/");
    const forged = await fetch(url.replace(signature, "0".repeat(64)), { redirect: "manual" });
    assert.equal(forged.status, 403, "a redirect without the signature");
    await registry.statesSize(BEYOND_THE_CACHE - 1);
    const largest = await fetch(url, { redirect: "manual" });
    assert.equal(largest.status, 200, "the largest archive that the cache keeps");
    await largest.body.cancel();
  });
});

describe("a registry whose URLs expire soon", () => {
  const vars = { TERRACE_DOWNLOADS: "edge", TERRACE_URL_LIFETIME: String(LIFETIME) };
  const registry = useRegistry({ mode: "worker", vars });

  test("refuses an expired URL that it has answered before", async () => {
    await registry.publishes(largeModule("1.0.0"));
    const url = await urlOf(registry);
    assert.equal((await fetch(url)).status, 200);
    await pause((LIFETIME + 2) * 1000);
    const response = await fetch(url);
    assert.equal(response.status, 403);
    assert.match(await response.text(), /expired/);
    assert.equal((await fetch(await urlOf(registry))).status, 200);
  });
});

withEachClient((client) => {
  const registry = useRegistry({ mode: "worker", vars: { TERRACE_DOWNLOADS: "edge" } });

  test("init installs a module from the edge", async (t) => {
    await registry.publishes(module({ address: ADDRESS, version: "1.0.0", files: saying("hello") }));
    const work = await client.workspace(t, registry, { "main.tf": usingModule(`${HOST}/${ADDRESS}`, "1.0.0") });
    await work.runs("init");
    assert.match(await work.read(".terraform/modules/wanted/main.tf"), /hello/);
  });
});
