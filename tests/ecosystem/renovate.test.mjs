// Renovate finds updates in the registry, and updates lock files.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { unzipSync } from "fflate";

import { root } from "../../scripts/lib/paths.mjs";
import { sha256 } from "../clients/support/archives.mjs";
import { usingModule, usingProvider } from "../clients/support/client.mjs";
import { inBothModes, useRegistry } from "../clients/support/registry.mjs";
import { mirrored, module, provider, saying } from "../clients/support/releases.mjs";
import { newKey } from "../clients/support/signing.mjs";
import { before, cleanupOf, describe, test } from "../clients/support/testing.mjs";
import { createToken } from "../clients/support/tokens.mjs";
import { openProxy } from "./support/proxy.mjs";
import { checkout, unlessInstalled } from "./support/renovate.mjs";

/** Renovate does not accept a provider of another registry if its hostname has a port. */
const HOST = "registry.terrace.test";
const ORIGIN = "registry.opentofu.org";
const SOURCE = "https://github.com/acme/widget";
const VERSIONS = ["0.1.0", "0.2.0", "1.0.0"];
const skip = unlessInstalled;

/** Returns the release with its source repository. */
const withSource = async (release) => {
  const { body, ...rest } = await release;
  return { ...rest, body: { ...body, source: SOURCE } };
};

const greeting = (version, address = "acme/greeting/local") =>
  module({ address, version, files: { ...saying(version), "modules/shout/main.tf": saying(version)["main.tf"] } });

/**
 * Starts a registry with three versions of each package, a proxy that maps its name to it, and returns the
 * newest release of the provider.
 */
function useReleases(mode, vars = {}) {
  const cleanup = cleanupOf();
  const registry = useRegistry({ mode, https: true, names: [HOST], vars: { TERRACE_HOSTNAMES: HOST, ...vars } });
  const found = { registry };
  before(async () => {
    const key = await newKey();
    const hello = (version) => provider({ address: "acme/hello", version, key });
    const random = (version) => mirrored(ORIGIN, key, provider({ address: "hashicorp/random", version, key }));
    await registry.trusts("acme", key);
    for (const version of VERSIONS) {
      found.newest = await hello(version);
      const copied = greeting(version, `${ORIGIN}/acme/copied/local`);
      Object.assign(copied.body, { source: SOURCE, commit: "0".repeat(40) });
      await registry.publishes(withSource(found.newest), withSource(greeting(version)), random(version), copied);
    }
    found.proxy = await openProxy(cleanup, { [HOST]: registry.port });
  });
  return found;
}

/** Looks up updates of the dependencies, and asserts that there is no warning and no request to another host. */
async function lookUp(t, { registry, proxy }, text, config) {
  const work = await checkout(t, { registry, proxy, config }, { "main.tf": text });
  const deps = await work.lookUp();
  assert.deepEqual(proxy.refused, []);
  assert.deepEqual(deps.flatMap(({ warnings = [] }) => warnings), []);
  return deps;
}

const newVersions = ({ updates }) => updates.map(({ newVersion }) => newVersion);

const usingOci = (source) => `module "pulled" {\n  source = "${source}"\n}\n`;

describe("lookups", () => {
  const found = useReleases("presigned");

  test("a provider has updates", { skip }, async (t) => {
    const deps = await lookUp(t, found, usingProvider(`${HOST}/acme/hello`, "0.1.0"));
    assert.deepEqual(deps.map(newVersions), [["0.2.0", "1.0.0"]]);
  });

  for (const [what, subdirectory] of [
    ["a module", ""],
    ["a module in a subdirectory", "//modules/shout"],
  ]) {
    test(`${what} has updates, and its repository for release notes, by its address and by oci://`, { skip }, async (t) => {
      const byAddress = usingModule(`${HOST}/acme/greeting/local${subdirectory}`, "0.1.0");
      const byOci = usingOci(`oci://${HOST}/modules/acme/greeting/local${subdirectory}?tag=0.1.0`);
      const deps = await lookUp(t, found, byAddress + byOci);
      assert.deepEqual(deps.map(({ datasource }) => datasource).sort(), ["docker", "terraform-module"]);
      for (const dep of deps) {
        assert.deepEqual(newVersions(dep), ["0.2.0", "1.0.0"], dep.datasource);
        assert.equal(dep.sourceUrl, SOURCE, dep.datasource);
      }
    });
  }

  for (const [what, source] of [
    ["with its hostname", `${ORIGIN}/hashicorp/random`],
    ["without a hostname", "hashicorp/random"],
  ]) {
    test(`a mirrored provider ${what} has updates by registryUrls, and a hosted one beside it`, { skip }, async (t) => {
      const registryUrls = [`https://${HOST}/origins/${ORIGIN}`];
      const packageRules = [{ matchDatasources: ["terraform-provider"], matchPackageNames: ["hashicorp/*"], registryUrls }];
      const text = usingProvider(source, "0.1.0") + usingProvider(`${HOST}/acme/hello`, "0.1.0");
      const deps = await lookUp(t, found, text, { packageRules });
      assert.deepEqual(deps.map(newVersions), Array(2).fill(["0.2.0", "1.0.0"]));
    });
  }

  test("a mirrored module has updates by registryUrls, and its repository for release notes", { skip }, async (t) => {
    const packageRules = [{ matchDatasources: ["terraform-module"], registryUrls: [`https://${HOST}/origins/${ORIGIN}`] }];
    const [dep] = await lookUp(t, found, usingModule("acme/copied/local", "0.1.0"), { packageRules });
    assert.deepEqual(newVersions(dep), ["0.2.0", "1.0.0"]);
    assert.equal(dep.sourceUrl, SOURCE);
  });

  test("minimumReleaseAge holds back all updates, and the settings of docs/compatibility.md allow them", { skip }, async (t) => {
    const text = [
      usingProvider(`${ORIGIN}/hashicorp/random`, "0.1.0"),
      usingProvider(`${HOST}/acme/hello`, "0.1.0"),
      usingModule(`${HOST}/acme/greeting/local`, "0.1.0"),
      usingOci(`oci://${HOST}/modules/acme/greeting/local?tag=0.1.0`),
    ].join("");
    const settings = await documentedSettings();
    const toMirror = settings.packageRules.find(({ registryUrls }) => registryUrls);
    const { minimumReleaseAgeBehaviour, ...withoutAge } = toMirror;
    assert.deepEqual(await offered(t, found, text, { packageRules: [withoutAge] }), Array(4).fill([]));
    assert.deepEqual(await offered(t, found, text, settings), Array(4).fill(["0.2.0", "1.0.0"]));
  });
});

/** Returns the versions that Renovate offers under `minimumReleaseAge`, for each dependency. */
async function offered(t, found, text, settings) {
  const deps = await lookUp(t, found, text, { minimumReleaseAge: "3 days", internalChecksFilter: "strict", ...settings });
  return deps.map(({ updates }) => newVersions({ updates: updates.filter(({ pendingChecks }) => !pendingChecks) }));
}

/** Returns the example of `renovate.json` in the documentation, for this registry. */
async function documentedSettings() {
  const text = await readFile(join(root, "docs", "compatibility.md"), "utf8");
  const [, json] = text.match(/^```json\n([^]*?)^```/m);
  return JSON.parse(json.replaceAll("registry.example.com", HOST));
}

describe("a private registry", () => {
  const found = useReleases("presigned", { TERRACE_ACCESS: "private" });

  test("one host rule with a token serves every protocol", { skip }, async (t) => {
    const { token } = await createToken(found.registry, "read");
    const hostRules = [{ matchHost: HOST, token }];
    const text = [
      usingProvider(`${HOST}/acme/hello`, "0.1.0"),
      usingModule(`${HOST}/acme/greeting/local`, "0.1.0"),
      usingOci(`oci://${HOST}/modules/acme/greeting/local?tag=0.1.0`),
    ].join("");
    const deps = await lookUp(t, found, text, { hostRules });
    assert.deepEqual(deps.map(newVersions), Array(3).fill(["0.2.0", "1.0.0"]));
  });
});

describe("lock files", () => {
  inBothModes((mode) => {
    const found = useReleases(mode);

    test("an update of the lock file has the hashes of every platform", { skip }, async (t) => {
      const text = usingProvider(`${HOST}/acme/hello`, "0.1.0");
      const work = await checkout(t, found, { "main.tf": text, ".terraform.lock.hcl": lockFile("0.1.0") });
      const [dep] = await work.lookUp();
      await work.updateLock({ ...dep, updates: [{ newVersion: "1.0.0", newValue: "1.0.0" }] });
      const updated = await work.read(".terraform.lock.hcl");
      assert.match(updated, /version {5}= "1\.0\.0"/);
      assert.deepEqual(hashes(updated), expectedHashes(found.newest));
      assert.deepEqual(found.proxy.refused, []);
    });
  });
});

const lockFile = (version) => `provider "${HOST}/acme/hello" {
  version     = "${version}"
  constraints = "${version}"
  hashes = [
    "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  ]
}
`;

const hashes = (text) => [...text.matchAll(/"((?:h1|zh):.+)"/g)].map(([, hash]) => hash).sort();

/** Returns the `h1:` of every zip, and a `zh:` for every signed line. */
function expectedHashes({ body, archives }) {
  const digests = body.shasums.trim().split("\n").map((line) => line.split(" ")[0]);
  return [...[...archives.values()].map(h1), ...digests.map((digest) => `zh:${digest}`)].sort();
}

/** Returns the hash of a zip's files, as golang.org/x/mod/sumdb/dirhash computes it. */
function h1(bytes) {
  const lines = Object.entries(unzipSync(bytes)).map(([name, content]) => `${sha256(content)}  ${name}\n`);
  return `h1:${createHash("sha256").update(lines.sort().join("")).digest("base64")}`;
}
