// Archives at presigned URLs of the bucket, and what R2 promises about writes: a key is created once, and changed only by those who
// have seen its newest value.
import assert from "node:assert/strict";

import { sha256 } from "../clients/support/archives.mjs";
import { counts } from "../clients/support/counts.mjs";
import { module, saying } from "../clients/support/releases.mjs";
import { describe, test } from "../clients/support/testing.mjs";
import { smokeRegistry } from "./support/server.mjs";

const ADDRESS = "archives/network/aws";

describe("archives and facts in R2", () => {
  const registry = smokeRegistry();

  const release = (version, text, address = ADDRESS) => module({ address, version, files: saying(`${address} ${text}`) });
  const describes = ({ path, body }) => registry.admin("PUT", path, JSON.stringify(body));

  test("an archive is sent to the bucket with a signed checksum, and fetched from there", async () => {
    const published = release("1.0.0", "archive");
    const [[digest, bytes]] = published.archives;
    const { status, answer } = await describes(published);
    assert.equal(status, 202);
    const { method, url, headers } = answer.missing[0].upload;
    assert.equal(new URL(url).origin, registry.archiveOrigin);
    const sends = async (some) => (await fetch(url, { method, headers: some, body: bytes })).status;
    const checksum = "x-amz-checksum-sha256";
    assert.equal(headers[checksum], Buffer.from(digest, "hex").toString("base64"));
    assert.equal(await sends({ ...headers, [checksum]: Buffer.alloc(32).toString("base64") }), 403);
    for (const name of Object.keys(headers)) assert.equal(await sends({ ...headers, [name]: "x" }), 403, name);
    assert.equal(await sends({}), 403, "without the signed headers");
    // Before the upload: once the object exists, every request to its URL is refused.
    const source = release("0.9.0", "source");
    await registry.publishes(source);
    const [[from]] = source.archives;
    const copied = await sends({ ...headers, "x-amz-copy-source": `/${registry.s3.bucket}/archives/${from}.zip` });
    assert.ok(copied >= 400, "no signature forbids a copy");
    assert.equal((await describes(published)).status, 202, "nothing was copied");
    assert.equal(await sends(headers), 200);
    assert.equal(await sends(headers), 412, "the URL creates an object, and changes none");
    assert.equal((await describes(published)).status, 201);

    const { location } = await registry.json(`/v1/modules/${ADDRESS}/1.0.0/download`);
    assert.equal(new URL(location).origin, registry.archiveOrigin);
    const archive = await fetch(location.replace(/[?&]checksum=[^&]*$/, ""));
    assert.equal(archive.status, 200);
    assert.equal(sha256(Buffer.from(await archive.arrayBuffer())), digest);
  });

  test("one of several concurrent publishers of a version creates it, with different bytes or with the same", async () => {
    const publishAtOnce = async (releases) => {
      for (const { archives } of releases) for (const [digest, bytes] of archives) await registry.overwrite(`archives/${digest}.zip`, bytes);
      const answers = await Promise.all(releases.map((one) => registry.publish(one)));
      return counts(answers.map(({ status }) => status));
    };
    const others = ["a", "b", "c", "d"].map((text) => release("3.0.0", text));
    assert.deepEqual(await publishAtOnce(others), { 201: 1, 409: 3 });
    assert.deepEqual(await publishAtOnce(Array(4).fill(release("3.1.0", "same"))), { 200: 3, 201: 1 });
  });

  test("concurrent changes of the statuses of one package are all kept", async () => {
    const address = "archives/statuses/aws";
    const versions = ["1.0.0", "1.1.0", "1.2.0", "1.3.0"];
    await Promise.all(versions.map((version) => registry.publishes(release(version, version, address))));
    const body = JSON.stringify({ state: "withdrawn", reason: "broken" });
    const changes = versions.map((version) => registry.admin("PUT", `/admin/v1/modules/${address}/${version}/status`, body));
    assert.deepEqual((await Promise.all(changes)).map(({ status }) => status), [200, 200, 200, 200]);
    const { answer } = await registry.admin("GET", `/admin/v1/modules/${address}/status`);
    assert.deepEqual(Object.keys(answer.versions).sort(), versions, JSON.stringify(answer));
  });
});
