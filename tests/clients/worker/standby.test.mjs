// `terrace serve` over the bucket of the Worker, through its S3 endpoint: either serves what the other has written.
import assert from "node:assert/strict";

import { startNativeServer } from "../../../scripts/native-server.mjs";
import { sha256 } from "../support/archives.mjs";
import { Registry, useRegistry } from "../support/registry.mjs";
import { HERE, module, provider, saying } from "../support/releases.mjs";
import { before, cleanupOf, describe, test } from "../support/testing.mjs";

describe("one bucket", () => {
  const worker = useRegistry({ mode: "presigned" });
  const native = new Registry();
  const cleanup = cleanupOf();
  let key;

  before(async () => {
    key = await worker.trusts("acme");
    await worker.publishes(provider({ address: "acme/widget", version: "1.0.0", key }), provider({ address: "acme/widget", version: "1.1.0", key }));
    await worker.publishes(...["1.0.0", "2.0.0"].map((version) => module({ address: "acme/vpc/aws", version, files: saying(version) })));
    const body = JSON.stringify({ state: "revoked", reason: "it deletes the wrong network" });
    const { status } = await worker.admin("PUT", "/admin/v1/modules/acme/vpc/aws/1.0.0/status", body);
    assert.equal(status, 200);
    const { endpoint, bucket, region, accessKeyId, secretAccessKey } = worker.s3;
    const env = {
      AWS_ENDPOINT_URL: endpoint,
      AWS_ALLOW_HTTP: "true",
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
    };
    Object.assign(native, await startNativeServer(cleanup, { store: `s3://${bucket}`, storeEnv: env, secrets: worker.secrets, args: ["--poll", "1"] }));
  });

  const LISTS = [
    "/v1/providers/acme/widget/versions",
    "/mirror/127.0.0.1/acme/widget/index.json",
    "/v2/providers/acme/widget/tags/list",
    "/v1/modules/acme/vpc/aws/versions",
  ];

  test("a bucket that the Worker has written is served as it is", async () => {
    for (const path of LISTS) assert.deepEqual(await native.json(path), await worker.json(path), path);
    const { modules } = await native.json("/v1/modules/search?q=vpc");
    assert.deepEqual(modules.map(({ id }) => id), ["acme/vpc/aws/2.0.0"]);
    const [os, arch] = HERE.split("_");
    const path = `/v1/providers/acme/widget/1.1.0/download/${os}/${arch}`;
    const [theirs, ours] = [await worker.json(path), await native.json(path)];
    assert.deepEqual(withoutUrls(ours), withoutUrls(theirs));
    const bytes = Buffer.from(await (await fetch(ours.download_url)).arrayBuffer());
    assert.equal(sha256(bytes), theirs.shasum);
    assert.equal((await native.request("/v1/modules/acme/vpc/aws/1.0.0/download")).status, 410);
  });

  test("the Worker serves what the process has written", async () => {
    await native.publishes(module({ address: "acme/dns/aws", version: "1.0.0", files: saying("native") }));
    await native.publishes(provider({ address: "acme/gadget", version: "1.0.0", key }));
    for (const path of ["/v1/modules/acme/dns/aws/versions", "/v1/providers/acme/gadget/versions"]) {
      assert.deepEqual(await worker.json(path), await native.json(path), path);
    }
  });

  test("documents that the two write differ in nothing, with their metadata", async () => {
    // The same archive by both, at different addresses, which the digests of manifests depend on.
    const released = (name) => module({ address: `acme/${name}/aws`, version: "1.0.0", files: saying("the same") });
    await worker.publishes(released("by-worker"));
    await native.publishes(released("by-process"));
    const [theirs, ours] = await Promise.all([head("by-worker"), head("by-process")]);
    assert.ok(theirs.some(([name]) => name.startsWith("x-amz-meta-")), "the Worker writes metadata");
    assert.deepEqual(ours, theirs);

    async function head(name) {
      const response = await worker.head(`releases/modules/acme/${name}/aws/1.0.0`);
      assert.equal(response.status, 200);
      const headers = [...response.headers].filter(([name]) => name === "content-type" || name.startsWith("x-amz-meta-"));
      const shapes = { "x-amz-meta-published": /\d/g, "x-amz-meta-contents": /[0-9a-f]/g };
      return headers.map(([name, value]) => [name, shapes[name] ? value.replaceAll(shapes[name], "0") : value]);
    }
  });
});

function withoutUrls(download) {
  return Object.fromEntries(Object.entries(download).filter(([name]) => !name.endsWith("_url")));
}
