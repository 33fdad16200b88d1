// The operations of requests, counted at the bindings of the built Worker in workerd.
import assert from "node:assert/strict";

import { counts } from "../support/counts.mjs";
import { inBothModes } from "../support/registry.mjs";
import { HERE, mirrored, module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, test } from "../support/testing.mjs";
import { useWatchedRegistry } from "../support/watched.mjs";

const READS = [
  "/v1/providers/acme/hello/versions",
  `/v1/providers/acme/hello/1.0.0/download/${HERE.replace("_", "/")}`,
  "/v1/modules/acme/greeting/aws/versions",
  "/v1/modules/acme/greeting/aws/1.0.0/download",
  "/mirror/127.0.0.1/acme/hello/index.json",
  "/mirror/127.0.0.1/acme/hello/1.0.0.json",
  "/mirror/origin.example/acme/widget/index.json",
  "/mirror/origin.example/acme/widget/1.0.0.json",
  "/v2/providers/acme/hello/tags/list",
  "/v2/providers/acme/hello/tags/list?n=1",
  "/v2/providers/acme/hello/manifests/1.0.0",
  "/v2/providers/origin.example/acme/widget/manifests/1.0.0",
  "/v2/modules/acme/greeting/aws/manifests/1.0.0",
];

inBothModes((mode) => {
  const registry = useWatchedRegistry({ mode });
  const keyDirectory = scratch();
  let key;

  before(async () => {
    key = await newKey(keyDirectory);
    await registry.trusts("acme", key);
    await registry.publishes(
      provider({ address: "acme/hello", version: "1.0.0", key }),
      module({ address: "acme/greeting/aws", version: "1.0.0", files: saying("hello") }),
      mirrored("origin.example", key, provider({ address: "acme/widget", version: "1.0.0", key })),
    );
  });

  for (const path of READS) {
    test(`GET and HEAD of ${path} make one read of KV and no operation of R2`, async () => {
      for (const method of ["GET", "HEAD"]) {
        const { status, operations } = await registry.operationsOf(path, { method });
        assert.equal(status, 200);
        assert.deepEqual(operations, ["KV getWithMetadata"], method);
      }
    });
  }

  test("a list that the client already has takes the same read", async () => {
    const [path] = READS;
    const { headers } = await registry.request(path);
    const { status, operations } = await registry.operationsOf(path, { headers: { "if-none-match": headers.get("etag") } });
    assert.equal(status, 304);
    assert.deepEqual(operations, ["KV getWithMetadata"]);
  });

  test("discovery and the homes of protocols make no storage operation", async () => {
    for (const path of ["/.well-known/terraform.json", "/mirror/", "/v2/"]) {
      const { status, operations } = await registry.operationsOf(path);
      assert.equal(status, 200);
      assert.deepEqual(operations, [], path);
    }
  });

  test("a publish lists its versions once and writes each index once", async (t) => {
    const counts = {
      provider: await operationsOfPublishing(provider({ address: "acme/hello", version: "1.1.0", key })),
      "mirrored provider": await operationsOfPublishing(
        mirrored("origin.example", key, provider({ address: "acme/widget", version: "1.1.0", key })),
      ),
      module: await operationsOfPublishing(module({ address: "acme/greeting/aws", version: "1.1.0", files: saying("more") })),
    };
    // The lists (a provider of this registry is also in the mirror's, and all are in the list of tags), the
    // version, the manifest of its tag, stored twice, and for each of two platforms the manifest and the zip; for people
    // the overview, the description of the version, and the catalogue of the owner.
    const people = 3;
    const indices = { provider: 3 + 3 + 4 + people, "mirrored provider": 2 + 3 + 4 + people, module: 2 + 3 + 1 + people };
    // Of a mirrored provider, each of three writes of indices lists the rules, which may block it.
    const rules = { "mirrored provider": 3 };
    for (const [kind, count] of Object.entries(counts)) {
      t.diagnostic(`publishing a later version of a ${kind}: ${JSON.stringify(count)}`);
      // One listing of the versions, of the documented ones, and of the owner's cards, and one of the garbage marks for
      // each of two requests.
      assert.equal(count["R2 list"], 5 + (rules[kind] ?? 0), kind);
      assert.equal(count["KV put"], indices[kind], kind);
    }
  });

  /** Returns the number of each operation. */
  async function operationsOfPublishing(publication) {
    const release = await publication;
    await registry.watched();
    await registry.publishes(release);
    const { operations } = await registry.watched();
    return counts(operations.map(({ name }) => name));
  }
});
