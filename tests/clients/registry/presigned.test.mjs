// Presigned URLs, verified by independent implementations: the S3 endpoint of the R2 simulator, a signer in
// JavaScript, and boto3.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";

import { isOnPath, run, runs } from "../support/programs.mjs";
import { MODES, useRegistry } from "../support/registry.mjs";
import { module, saying } from "../support/releases.mjs";
import { taken } from "../support/s3.mjs";
import { before, describe, test } from "../support/testing.mjs";

const SOME_MEGABYTES = 5 * 1024 * 1024;
const BOTO3 = fileURLToPath(new URL("../support/presign_with_boto3.py", import.meta.url));

const withoutBoto3 = !isOnPath("python3")
  ? "python3 is not on PATH"
  : (await run("python3", ["-c", "import boto3"])).code !== 0 && "python3 has no boto3";

const largeModule = (version) =>
  module({ address: "acme/large/aws", version, files: { ...saying("large"), "random.bin": randomBytes(SOME_MEGABYTES) } });

describe("the bucket's S3 endpoint", () => {
  const registry = useRegistry();
  const release = largeModule("1.0.0");
  const [[digest, bytes]] = release.archives;
  const unsentRelease = largeModule("2.0.0");
  let upload;
  let url;
  /** The upload of a release whose archive is never sent. */
  let unsent;

  /** Returns the registry's upload URL and headers for the archive of a release. */
  async function uploadOf({ path, body }) {
    const { answer } = await registry.admin("PUT", path, JSON.stringify(body));
    return answer.missing[0].upload;
  }

  before(async () => {
    upload = await uploadOf(release);
    unsent = await uploadOf(unsentRelease);
    await registry.publishes(release);
    url = await archiveUrl(registry, "acme/large/aws/1.0.0");
  });

  const status = async (response) => (await response).status;
  /** The body is small, because a client that is refused early may not be able to send a large one. */
  const put = ({ url, headers }) => fetch(url, { method: "PUT", headers, body: "other bytes" });

  test("refuses an upload without the headers that are signed", async () => {
    assert.equal(await status(put({ url: unsent.url, headers: {} })), 403);
  });

  test("refuses an upload with a header that differs from the signed one", async () => {
    for (const name of Object.keys(unsent.headers)) {
      assert.equal(await status(put({ url: unsent.url, headers: { ...unsent.headers, [name]: "x" } })), 403, name);
    }
  });

  test("refuses a copy to an upload URL, although no signature forbids it", async () => {
    const copy = { ...unsent.headers, "x-amz-copy-source": `/${registry.s3.bucket}/archives/${digest}.zip` };
    const response = await fetch(unsent.url, { method: "PUT", headers: copy });
    assert.ok(response.status >= 400, `${response.status} ${await response.text()}`);
    const { status } = await registry.admin("PUT", unsentRelease.path, JSON.stringify(unsentRelease.body));
    assert.equal(status, 202);
    // Also for the archive of an existing release.
    const other = await fetch(upload.url, { method: "PUT", headers: { ...upload.headers, "x-amz-copy-source": copy["x-amz-copy-source"] } });
    assert.ok(other.status >= 400, `${other.status}`);
  });

  test("refuses to overwrite: an upload URL can only create", async () => {
    assert.equal(await status(put(upload)), 412);
  });
  /** The requests that both signers sign, as the registry did. */
  const requests = () => [
    { method: "GET", of: url, headers: {} },
    { method: "PUT", of: upload.url, headers: upload.headers },
  ];
  const asSigned = ({ method, of, headers }) => {
    const query = taken(of);
    const key = `archives/${digest}.zip`;
    return { s3: registry.s3, method, key, headers, time: query["X-Amz-Date"], lifetime: Number(query["X-Amz-Expires"]) };
  };

  test("gets the same URLs from boto3", { skip: withoutBoto3 }, async () => {
    for (const request of requests()) {
      const { stdout } = await runs("python3", [BOTO3], { input: JSON.stringify(asSigned(request)) });
      assert.deepEqual(taken(stdout.toString().trim()), taken(request.of));
    }
  });
});

for (const mode of MODES) {
  describe(`a lifetime of one second, ${mode} URLs`, () => {
    const registry = useRegistry({ mode, vars: { TERRACE_URL_LIFETIME: "1" } });

    test("ends within two seconds", async () => {
      await registry.publishes(module({ address: "acme/brief/aws", version: "1.0.0", files: saying("brief") }));
      const url = await archiveUrl(registry, "acme/brief/aws/1.0.0");
      await new Promise((done) => setTimeout(done, 2_100));
      assert.equal((await fetch(url)).status, 403);
      await eventually(async () => (await fetch(await archiveUrl(registry, "acme/brief/aws/1.0.0"))).status === 200);
    });
  });
}

/** Returns the archive URL of a module version, without the parameters that only go-getter understands. */
async function archiveUrl(registry, version) {
  const { location } = await registry.json(`/v1/modules/${version}/download`);
  return location.replace(/[?&]checksum=sha256:[0-9a-f]{64}$/, "");
}

/** Lifetimes start at the last full second, so a new URL may expire before it arrives, but not ten times in a row. */
async function eventually(attempt) {
  for (let attempts = 0; attempts < 10; attempts += 1) if (await attempt()) return;
  assert.fail("never succeeds");
}
