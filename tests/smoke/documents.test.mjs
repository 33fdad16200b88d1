// Members of documentation, which the Worker inflates with the platform's decompressor.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";

import { sha256 } from "../clients/support/archives.mjs";
import { HERE, provider } from "../clients/support/releases.mjs";
import { before, describe, test } from "../clients/support/testing.mjs";
import { smokeRegistry } from "./support/server.mjs";

const PROVIDER = "documents/widget";
const DOCUMENT = "# A part\n\nParts of *widgets*.\n";

describe("documents", () => {
  const registry = smokeRegistry();

  before(async () => {
    const key = await registry.trusts("documents");
    await registry.publishes(provider({ address: PROVIDER, version: "1.0.0", key, platforms: [HERE] }));
  });

  /** Describes documentation of gzip members: the first is the table of the others. */
  function documentation(head, ...members) {
    const archive = Buffer.concat([head, ...members]);
    const digest = sha256(archive);
    return {
      path: `/admin/v1/providers/${PROVIDER}/1.0.0/documentation`,
      body: { sha256: digest, size: archive.length, head_length: head.length },
      archives: new Map([[digest, archive]]),
    };
  }

  test("a document is inflated for those who read it, and a damaged table is refused", async () => {
    const page = gzipSync(DOCUMENT);
    const member = { offset: 0, length: page.length, size: DOCUMENT.length };
    const pages = [{ kind: "resources", name: "part", title: "A part", member }];
    const head = gzipSync(JSON.stringify({ schema: 1, contents: { provider: { pages } } }));
    const damaged = Buffer.from(head);
    damaged[head.length >> 1] ^= 0xff;
    const refused = await registry.publish(documentation(damaged, page));
    assert.equal(refused.status, 422, JSON.stringify(refused.answer));
    const added = await registry.publish(documentation(head, page));
    assert.equal(added.status, 201, JSON.stringify(added.answer));
    const text = await registry.request(`/api/v1/providers/${PROVIDER}/1.0.0/docs/resources/part`);
    assert.equal(await text.text(), DOCUMENT);
    const shown = await registry.request(`/providers/${PROVIDER}/1.0.0/docs/resources/part`);
    assert.equal(shown.status, 200);
    assert.match(await shown.text(), /Parts of <em>widgets<\/em>/);
  });
});
