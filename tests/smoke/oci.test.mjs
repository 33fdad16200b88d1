// Bytes that pass through the Worker, as streams between the client and the bucket: pushes by OCI Distribution.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";

import { sha256 } from "../clients/support/archives.mjs";
import { describe, test } from "../clients/support/testing.mjs";
import { smokeRegistry } from "./support/server.mjs";

const REPOSITORY = "/v2/smoke/app";
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
/** The length of a chunk in storage is 4 MiB, if its length is not known before. */
const MORE_THAN_A_CHUNK = 5 * 1024 * 1024;

describe("pushes by OCI Distribution", () => {
  const registry = smokeRegistry();

  const digestOf = (bytes) => `sha256:${sha256(bytes)}`;

  /** Sends a request with a body, whose length only a stream leaves open. */
  async function sends(method, path, body, { isUnsized = false, ...headers } = {}) {
    const stream = isUnsized && new Blob([body]).stream();
    return registry.request(path, {
      method,
      headers: { authorization: `Bearer ${registry.secrets.adminToken}`, "content-type": "application/octet-stream", ...headers },
      ...(stream ? { body: stream, duplex: "half" } : { body }),
    });
  }

  async function expects(status, response) {
    assert.equal(response.status, status, await response.clone().text());
    return response;
  }

  async function pulls(bytes) {
    const response = await expects(200, await registry.request(`${REPOSITORY}/blobs/${digestOf(bytes)}`));
    assert.equal(sha256(Buffer.from(await response.arrayBuffer())), sha256(bytes));
  }

  test("a blob of known length is stored in one request, and one with another digest is not", async () => {
    const bytes = randomBytes(MORE_THAN_A_CHUNK);
    const other = await sends("POST", `${REPOSITORY}/blobs/uploads/?digest=${digestOf("other")}`, bytes);
    assert.equal((await expects(400, other).then((it) => it.json())).errors[0].code, "DIGEST_INVALID");
    await expects(201, await sends("POST", `${REPOSITORY}/blobs/uploads/?digest=${digestOf(bytes)}`, bytes));
    await pulls(bytes);
  });

  test("an artifact is pushed in chunks, whose lengths may be unknown, and pulled", async () => {
    const bytes = randomBytes(MORE_THAN_A_CHUNK + 1000);
    const begun = await expects(202, await sends("POST", `${REPOSITORY}/blobs/uploads/`, ""));
    const location = begun.headers.get("location");
    const patch = async (from, to, isUnsized) => {
      const sent = await sends("PATCH", location, bytes.subarray(from, to), { isUnsized, "content-range": `${from}-${to - 1}` });
      assert.equal((await expects(202, sent)).headers.get("range"), `0-${to - 1}`);
    };
    await patch(0, 500, false);
    await patch(500, bytes.length - 500, true);
    await patch(bytes.length - 500, bytes.length, false);
    await expects(201, await sends("PUT", `${location}?digest=${digestOf(bytes)}`, ""));
    const config = Buffer.from("{}");
    await expects(201, await sends("POST", `${REPOSITORY}/blobs/uploads/?digest=${digestOf(config)}`, config));
    const described = (blob, mediaType) => ({ mediaType, digest: digestOf(blob), size: blob.length });
    const manifest = JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: described(config, "application/vnd.oci.image.config.v1+json"),
      layers: [described(bytes, "application/vnd.oci.image.layer.v1.tar")],
    });
    await expects(201, await sends("PUT", `${REPOSITORY}/manifests/latest`, manifest, { "content-type": MANIFEST }));
    const pulled = await expects(200, await registry.request(`${REPOSITORY}/manifests/latest`, { headers: { accept: MANIFEST } }));
    assert.equal(pulled.headers.get("docker-content-digest"), digestOf(manifest));
    await pulls(bytes);
  });

  test("a document of unknown length is refused, because the Worker reads it into memory", async () => {
    await expects(411, await sends("POST", "/admin/v1/tokens", "{}", { isUnsized: true }));
  });
});
