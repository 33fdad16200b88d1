// Repair, verification, garbage collection and copies of a whole registry, by the built command.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { sha256 } from "../support/archives.mjs";
import { HOST, usingProvider, withEachClient } from "../support/client.mjs";
import { run, unlessOnPath } from "../support/programs.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { HERE, mirrored, module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, test } from "../support/testing.mjs";

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

const REVOKED = `/v1/providers/acme/hello/1.1.0+b/download/${HERE.replace("_", "/")}`;

/** Five releases, the keys, two status documents, a token and the format; two links, a manifest and a tag. */
const DOCUMENTS = 14;

/** The same without the fact format, which an import compares first and does not count. */
const IMPORTED = DOCUMENTS - 1;

inBothModes((mode) => {
  const registry = useRegistry({ mode });
  const copy = useRegistry({ mode });
  const directory = scratch();

  before(async () => fill(registry));

  test("verification of an undamaged registry finds no faults", async () => {
    const { status, documents, audit_entries, archives, hashed_bytes, bytes, orphans } = await registry.report(["admin", "verify"]);
    assert.equal(status, "ok");
    assert.deepEqual({ documents: documents - audit_entries, orphans }, { documents: DOCUMENTS, orphans: 0 });
    assert.ok(audit_entries > 10, `${audit_entries}`);
    assert.equal(archives, 6 + 6 + 2 + 2);
    assert.equal(hashed_bytes, bytes);
  });

  test("an export can be verified with sha256sum, and a second export downloads nothing", async (t) => {
    const first = await registry.report(["admin", "export", directory]);
    assert.equal(first.fetched, first.archives);
    assert.equal((await registry.report(["admin", "export", directory])).fetched, 0);
    assert.equal(unlessOnPath("sha256sum"), false);
    const checked = await run("sha256sum", ["-c", "--quiet", "SHA256SUMS"], { cwd: directory });
    assert.equal(checked.code, 0, checked.output);
    t.diagnostic(`${first.documents} documents and ${first.archives} archives of ${first.bytes} bytes`);
    const release = await readFile(join(directory, "facts/releases/providers/hosted/acme/hello/1.1.0+b.json"), "utf8");
    assert.equal(JSON.parse(release).address, "acme/hello");
    // A damaged file of the copy is downloaded again.
    const [name] = (await readFile(join(directory, "SHA256SUMS"), "utf8")).match(/archives\/\w+\.zip/);
    await writeFile(join(directory, name), "damaged");
    assert.equal((await registry.report(["admin", "export", directory])).fetched, 1);
  });

  test("a copy contains the audit log", async () => {
    const { entries } = await registry.report(["admin", "audit", "--verify", "--copy", directory]);
    assert.deepEqual(entries, (await registry.report(["admin", "audit", "--verify"])).entries);
  });

  test("a registry imported from a copy gives the same answers", async (t) => {
    const imported = await copy.report(["admin", "import", directory]);
    assert.deepEqual({ created: imported.created, unchanged: imported.unchanged, sent: imported.sent }, { created: IMPORTED, unchanged: 0, sent: 16 });
    assert.deepEqual(await answers(copy), await answers(registry));
    for (const place of [registry, copy]) assert.equal((await place.request(REVOKED)).status, 410);
    assert.equal((await copy.report(["admin", "verify"])).status, "ok");
    assert.deepEqual((await copy.report(["admin", "reindex"])).rewritten, []);
    const again = await copy.report(["admin", "import", directory]);
    assert.deepEqual({ created: again.created, unchanged: again.unchanged, sent: again.sent }, { created: 0, unchanged: IMPORTED, sent: 0 });
    // A copy of the copy differs only in its name and in the log, because each registry has its own.
    const second = scratch(t);
    await copy.report(["admin", "export", second]);
    const sums = async (place) => {
      const lines = (await readFile(join(place, "SHA256SUMS"), "utf8")).split("\n");
      return lines.filter((line) => !line.includes(" facts/audit/"));
    };
    assert.deepEqual(await sums(second), await sums(directory));
    const { entries } = await copy.report(["admin", "audit", "--verify"]);
    assert.ok(entries.every(({ what }) => /^(PUT|POST) \/admin\/v1\/(facts|reindex)$/.test(what)), JSON.stringify(entries));
  });

  withEachClient((client) => {
    test("a lock file of one registry is valid for the other", async (t) => {
      const files = { "main.tf": usingProvider(`${HOST}/acme/hello`, "1.0.0") };
      const here = await client.workspace(t, registry, files);
      await here.runs("init");
      const locked = await here.read(".terraform.lock.hcl");
      const there = await client.workspace(t, copy, { ...files, ".terraform.lock.hcl": locked });
      await there.runs("init", "-lockfile=readonly");
    });
  });
});

/** Returns a registry's answers, without the parts that differ between registries and over time. */
async function answers(registry) {
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

/** Publishes a package of each kind, and changes the status of some. */
async function fill(registry) {
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
