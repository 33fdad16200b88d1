// `terrace doctor` and registries of other programs: a folder of files behind HTTPS, as any web server serves it.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { dirname, extname, join, normalize } from "node:path";

import { cli } from "../../../scripts/build.mjs";
import { ensureCertificates } from "../../../scripts/lib/tls.mjs";
import { run } from "../support/programs.mjs";
import { HERE, module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { after, before, describe, test } from "../support/testing.mjs";

/** The types of a web server with its usual configuration; files without a known extension have none of their own. */
const TYPES = { ".json": "application/json", ".zip": "application/zip", ".sig": "application/octet-stream" };

describe("a registry of static files", () => {
  const directory = scratch();
  const folder = join(directory, "www");
  let server;
  let url;
  let ca;
  after(() => {
    server?.closeAllConnections();
    server?.close();
  });

  const writes = async (path, content) => {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, typeof content === "string" || Buffer.isBuffer(content) ? content : JSON.stringify(content));
  };

  before(async () => {
    const certificates = await ensureCertificates(join(directory, "tls"));
    ({ ca } = certificates);
    server = createServer({ key: await readFile(certificates.key), cert: await readFile(certificates.cert) }, serve);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `https://127.0.0.1:${server.address().port}`;
    await writeProvider();
    await writeModule();
    await writes(".well-known/terraform.json", { "providers.v1": "/v1/providers/", "modules.v1": "/v1/modules/" });
  });

  async function writeProvider() {
    const key = await newKey(join(directory, "key"));
    const { body, archives } = await provider({ address: "acme/hello", version: "1.0.0", key, platforms: [HERE] });
    const [{ os, arch, filename, sha256 }] = body.packages;
    const files = "/files/acme/hello";
    await writes(`${files}/${filename}`, archives.get(sha256));
    await writes(`${files}/SHA256SUMS`, body.shasums);
    await writes(`${files}/SHA256SUMS.sig`, Buffer.from(body.signature, "base64"));
    const platforms = [{ os, arch }];
    await writes("v1/providers/acme/hello/versions", { versions: [{ version: "1.0.0", protocols: ["5.0"], platforms }] });
    await writes(`v1/providers/acme/hello/1.0.0/download/${os}/${arch}`, {
      protocols: ["5.0"], os, arch, filename, shasum: sha256,
      download_url: `${url}${files}/${filename}`,
      shasums_url: `${url}${files}/SHA256SUMS`,
      shasums_signature_url: `${url}${files}/SHA256SUMS.sig`,
      signing_keys: { gpg_public_keys: [{ ascii_armor: key.publicKey }] },
    });
  }

  async function writeModule() {
    const { archives } = module({ address: "acme/vpc/aws", version: "1.0.0", files: saying("hello") });
    const [bytes] = archives.values();
    await writes("files/acme/vpc-1.0.0.zip", bytes);
    await writes("v1/modules/acme/vpc/aws/versions", { modules: [{ versions: [{ version: "1.0.0" }] }] });
    await writes("v1/modules/acme/vpc/aws/1.0.0/download", { location: "/files/acme/vpc-1.0.0.zip" });
  }

  /** Serves the files of the folder, and a page about everything else. */
  async function serve({ url: target, method }, response) {
    const path = normalize(decodeURIComponent(new URL(target, url).pathname));
    const bytes = ["GET", "HEAD"].includes(method) && (await readFile(join(folder, path)).catch(() => null));
    const headers = bytes ? { "content-type": TYPES[extname(path)] ?? "text/plain", "content-length": bytes.length } : { "content-type": "text/html" };
    response.writeHead(bytes ? 200 : 404, headers);
    response.end(method === "HEAD" ? undefined : (bytes || "<html><h1>404 Not Found</h1></html>"));
  }

  /** Returns the exit code and the checks that did not pass, by ID. */
  async function examined(...args) {
    const env = { ...process.env, HOME: directory, SSL_CERT_FILE: ca, TERRACE_URL: undefined, TERRACE_TOKEN: undefined };
    const { code, output, stdout } = await run(cli, ["doctor", url, "--skip", "L", "--json", ...args], { env });
    const { categories } = JSON.parse(stdout.toString());
    const checks = categories.flatMap(({ checks: all }) => all);
    const byId = Object.fromEntries(checks.map((check) => [check.id, check]));
    return { code, output, byId, of: (status) => checks.filter((check) => check.status === status).map(({ id }) => id) };
  }

  const PACKAGES = ["--provider", "acme/hello", "--module", "acme/vpc/aws"];

  test("has one finding: Terraform needs a header that files do not have", async () => {
    const { code, output, byId, of } = await examined(...PACKAGES);
    assert.deepEqual(of("fail"), [], output);
    assert.deepEqual(of("warn"), ["M2"], output);
    assert.match(byId.M2.observed, /body only/);
    assert.equal(code, 0, output);
    for (const id of ["T2", "S1", "C1", "P1", "P2", "P4", "M1", "M3", "D1", "D2", "D3", "D4", "W1"]) assert.ok(of("pass").includes(id), `${id}: ${output}`);
    for (const id of ["A1", "O2", "R1", "K1", "V1"]) assert.ok(of("skip").includes(id), `${id}: ${output}`);
  });

  test("needs the names of packages, because it has no catalogue", async () => {
    const { code, output, byId } = await examined();
    assert.equal(code, 0, output);
    assert.match(byId.P1.observed, /name one with --provider/);
    assert.match(byId.M1.observed, /name one with --module/);
  });

  test("has a package whose bytes were replaced", async () => {
    const path = "files/acme/hello/SHA256SUMS";
    const before = await readFile(join(folder, path));
    await writes(path, `${before}\n`);
    const { code, output, of } = await examined(...PACKAGES);
    await writes(path, before);
    assert.deepEqual(of("fail"), ["P2"], output);
    assert.equal(code, 3, output);
  });
});
