// What needs a server of its own: archives that pass through the Worker, which signs their URLs, and an instance of the wasm that
// breaks, with all requests that it serves.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";

import { sha256 } from "../clients/support/archives.mjs";
import { useRegistry } from "../clients/support/registry.mjs";
import { module, saying } from "../clients/support/releases.mjs";
import { describe, test } from "../clients/support/testing.mjs";
import { smokeWorker } from "./support/server.mjs";

const MAIN = fileURLToPath(new URL("support/breakable.mjs", import.meta.url));
const LIST = "/v1/modules/acme/network/aws/versions";

describe("a registry without keys of its bucket", () => {
  const registry = useRegistry(async () => {
    const { main } = await smokeWorker();
    return { mode: "worker", worker: { main: MAIN }, bindings: { alias: { worker: main } } };
  });

  test("an archive is sent and fetched through the Worker, whole and in parts", async () => {
    const release = module({ address: "acme/network/aws", version: "1.0.0", files: { ...saying("hello"), "random.bin": randomBytes(1024 * 1024) } });
    const [[digest, bytes]] = release.archives;
    const { status, answer } = await registry.admin("PUT", release.path, JSON.stringify(release.body));
    assert.equal(status, 202);
    const { method, url, headers } = answer.missing[0].upload;
    assert.equal(new URL(url).origin, registry.url);
    const sends = async (body, more) => (await fetch(url, { method, headers, body, ...more })).status;
    assert.equal(await sends(new Blob([bytes]).stream(), { duplex: "half" }), 411);
    assert.equal(await sends(Buffer.alloc(bytes.length)), 422);
    assert.equal(await sends(bytes), 201);
    assert.equal((await registry.publish(release)).status, 201);

    const { location } = await registry.json("/v1/modules/acme/network/aws/1.0.0/download");
    const archive = new URL(location.replace(/[?&]checksum=[^&]*$/, ""), registry.url);
    assert.equal(sha256(Buffer.from(await (await fetch(archive)).arrayBuffer())), digest);
    const part = await fetch(archive, { headers: { range: "bytes=1000-1999" } });
    assert.equal(part.status, 206);
    assert.ok(bytes.subarray(1000, 2000).equals(Buffer.from(await part.arrayBuffer())));
  });

  test("a read that breaks the instance is answered by a new one, and a change that does so fails alone", async () => {
    const reads = async () => (await registry.json(LIST)).modules[0].versions.length;
    const breaks = (name) => registry.json(`/.break?in=${name}`);
    assert.equal(await reads(), 1);
    const first = await breaks("machine_begin");
    assert.equal(await reads(), 1);
    const second = await breaks("fetch");
    assert.ok(second > first, "the instance was not replaced");
    const other = module({ address: "acme/network/aws", version: "2.0.0", files: saying("hello") });
    const change = await registry.request(other.path, { method: "PUT", body: "{}" });
    assert.equal(change.status, 500, await change.text());
    assert.equal((await registry.publish(other)).status, 201);
    assert.ok((await breaks("")) > second, "the instance was not replaced");
    assert.equal(await reads(), 2);
  });
});
