// Bytes that pass through the Worker, as streams between the client and the bucket: pushes by OCI Distribution.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";

import { sha256 } from "../clients/support/archives.mjs";
import { describe, test } from "../clients/support/testing.mjs";
import { smokeRegistry } from "./support/server.mjs";

const REPOSITORY = "/v2/smoke/app";
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

  test("a blob is pushed in chunks, one of unknown length that storage divides, and pulled", async () => {
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
    const pulled = await expects(200, await registry.request(`${REPOSITORY}/blobs/${digestOf(bytes)}`));
    assert.equal(sha256(Buffer.from(await pulled.arrayBuffer())), sha256(bytes));
  });
});
