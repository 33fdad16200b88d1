// A registry with a package of each kind, and `terrace admin` for it.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import { sha256 } from "./archives.mjs";
import { HERE, mirrored, module, provider, saying } from "./releases.mjs";

const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const REPOSITORY = "team/tools";

const READS = [
  "/v1/providers/acme/hello/versions",
  `/v1/providers/acme/hello/1.0.0/download/${HERE.replace("_", "/")}`,
  "/v1/modules/acme/greeting/aws/versions",
  "/v1/modules/acme/greeting/aws/1.0.0/download",
  "/mirror/origin.example/acme/widget/index.json",
  "/mirror/origin.example/acme/widget/1.0.0.json",
  "/v2/providers/acme/hello/tags/list",
  "/v2/providers/acme/hello/manifests/1.0.0",
  "/v2/modules/acme/greeting/aws/manifests/1.0.0",
  `/v2/${REPOSITORY}/tags/list`,
  `/v2/${REPOSITORY}/manifests/Latest`,
];

/** The status changes of the published releases. */
const STATUSES = [
  ["modules/acme/greeting/aws/1.0.0", "withdrawn"],
  ["providers/acme/hello", "deprecated"],
  ["providers/acme/hello/1.1.0+b", "revoked"],
];

/** Returns a registry's answers, without the parts that differ between registries and over time. */
export async function answers(registry) {
  const found = {};
  for (const path of READS) {
    const response = await registry.request(path);
    assert.equal(response.status, 200, path);
    const text = (await response.text()).replaceAll(/https?:\/\/[^"]*?([0-9a-f]{64}\.[^"?]*)(\?[^"]*)?/g, "$1");
    const { headers } = response;
    found[path] = { text, etag: headers.get("etag"), digest: headers.get("docker-content-digest") };
  }
  return found;
}

/**
 * More than the unit of times in the audit log. An export distinguishes a changed log from that of a restored registry by the times of
 * their entries, and cannot if all of them are of one second.
 */
const SECOND_MS = 1_100;

export async function fill(registry) {
  const key = await registry.trusts("acme");
  await sleep(SECOND_MS);
  await registry.publishes(
    provider({ address: "acme/hello", version: "1.0.0", key }),
    provider({ address: "acme/hello", version: "1.1.0+b", key }),
    mirrored("origin.example", key, provider({ address: "acme/widget", version: "1.0.0", key })),
    module({ address: "acme/greeting/aws", version: "1.0.0", files: saying("hello") }),
    module({ address: "acme/greeting/aws", version: "1.1.0", files: saying("more"), format: "tar.gz" }),
  );
  const { status } = await registry.admin("POST", "/admin/v1/tokens", JSON.stringify({ name: "ci", scopes: ["read"] }));
  assert.equal(status, 201);
  await push(registry);
  for (const [path, state] of STATUSES) {
    const body = JSON.stringify({ state, reason: "a test" });
    const { status } = await registry.admin("PUT", `/admin/v1/${path}/status`, body);
    assert.equal(status, 200, path);
  }
}

/** Pushes an artifact with one layer, as OCI clients do. */
async function push(registry) {
  const authorization = `Basic ${Buffer.from(`me:${registry.secrets.adminToken}`).toString("base64")}`;
  const put = async (method, path, body, type) => {
    const headers = { authorization, ...(type && { "content-type": type }) };
    const response = await registry.request(`/v2/${REPOSITORY}/${path}`, { method, headers, body });
    assert.equal(response.status, 201, `${path}: ${await response.text()}`);
  };
  const blob = async (text) => {
    const digest = `sha256:${sha256(text)}`;
    await put("POST", `blobs/uploads/?digest=${digest}`, text);
    return { mediaType: "application/octet-stream", digest, size: text.length };
  };
  const [config, layer] = [await blob("{}"), await blob("a layer")];
  const manifest = { schemaVersion: 2, mediaType: MANIFEST, artifactType: "a/b", config, layers: [layer] };
  await put("PUT", "manifests/Latest", JSON.stringify(manifest), MANIFEST);
}
