// OCI Distribution with OpenTofu and clients of other projects: published packages are artifacts.
import assert from "node:assert/strict";
import { mkdtemp, readFile } from "node:fs/promises";
import { join } from "node:path";

import { sha256 } from "../support/archives.mjs";
import { onlyLinux, usingModule, usingProvider, withEachClient } from "../support/client.mjs";
import { unlessUsable, useTlsRegistry } from "../support/oci.mjs";
import { runs } from "../support/programs.mjs";
import { inBothModes } from "../support/registry.mjs";
import { ELSEWHERE, HERE, mirrored, module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, describe, test } from "../support/testing.mjs";

/** An unreachable registry, so everything installed under this name comes from here. */
const ORIGIN = "origin.invalid";

function useArtifacts(mode) {
  const directory = scratch();
  const registry = useTlsRegistry(mode);
  before(async () => {
    const key = await newKey(directory);
    await registry.trusts("acme", key);
    await registry.publishes(
      ...["1.0.0", "1.2.0+b.1"].map((version) => provider({ address: "acme/hello", version, key })),
      mirrored(ORIGIN, key, provider({ address: "acme/widget", version: "1.0.0", key })),
      module({ address: "acme/greeting/local", version: "1.0.0", files: saying("hello") }),
      module({ address: "acme/greeting/local", version: "1.1.0", files: { "sub/main.tf": saying("sub")["main.tf"] }, subdir: "sub" }),
    );
  });
  return registry;
}

withEachClient((client) => {
  if (client.name !== "tofu") return;
  inBothModes((mode) => {
    const registry = useArtifacts(mode);

    const work = (t, files) => {
      const template = `${registry.host}/providers/$\{hostname}/$\{namespace}/$\{type}`;
      const config = `provider_installation {\n  oci_mirror {\n    repository_template = "${template}"\n    include = ["*/*/*"]\n  }\n}\n`;
      return client.workspace(t, registry, files, { config, env: { SSL_CERT_FILE: registry.env.SSL_CERT_FILE } });
    };

    for (const [what, source, version] of [
      ["hosted", "127.0.0.1/acme/hello", "1.2.0+b.1"],
      ["mirrored", `${ORIGIN}/acme/widget`, "1.0.0"],
    ]) {
      test(`a ${what} provider is installed only by oci_mirror, and again from the lock file (6.6, 6.13)`, { skip: onlyLinux }, async (t) => {
        const found = await work(t, { "main.tf": usingProvider(source, version) });
        const { said } = await found.runs("init");
        assert.match(said, new RegExp(`Installed ${source} v${version.replaceAll(/[.+]/g, "\\$&")}`));
        assert.equal((await found.lockedHashes()).zh.length, 1);
        await found.remove(".terraform");
        await found.runs("init", "-lockfile=readonly");
      });
    }

    test("the newest matching version is selected from the tags (6.3)", { skip: onlyLinux }, async (t) => {
      const found = await work(t, { "main.tf": usingProvider("127.0.0.1/acme/hello", "~> 1.0.0") });
      assert.match((await found.runs("init")).said, /hello v1\.0\.0/);
    });

    test("a provider that the mirror lacks is installed from elsewhere (6.4)", { skip: onlyLinux }, async (t) => {
      const found = await work(t, { "main.tf": usingProvider(`${ORIGIN}/acme/nothing`, "1.0.0") });
      assert.match(await found.fails("init"), /acme\/nothing/);
    });

    test("a module is installed by oci:// (6.7)", { skip: onlyLinux }, async (t) => {
      const source = `oci://${registry.host}/modules/acme/greeting/local`;
      const found = await work(t, { "main.tf": usingModule(`${source}?tag=1.0.0`).replace(/ {2}version.*\n/, "") });
      await found.runs("init");
      assert.deepEqual(await found.outputs(), { says: "hello" });
      const below = await work(t, { "main.tf": usingModule(`${source}//sub?tag=1.1.0`).replace(/ {2}version.*\n/, "") });
      await below.runs("init");
      assert.deepEqual(await below.outputs(), { says: "sub" });
    });
  });
});

describe("clients of other projects", () => {
  inBothModes((mode) => {
    const registry = useArtifacts(mode);
    const env = () => ({ ...process.env, SSL_CERT_FILE: registry.env.SSL_CERT_FILE });
    const here = (index) => index.manifests.find(({ platform: { os, architecture } }) => `${os}_${architecture}` === HERE);

    /** Returns the expected digest of the provider's zip for this platform. */
    async function expected() {
      const { archives } = await registry.json("/mirror/127.0.0.1/acme/hello/1.0.0.json");
      assert.deepEqual(Object.keys(archives).sort(), [ELSEWHERE, HERE].sort());
      return archives[HERE].hashes[0].replace("zh:", "");
    }

    test("crane lists, describes and pulls", { skip: unlessUsable("crane") }, async () => {
      const repository = `${registry.host}/providers/acme/hello`;
      const crane = async (...args) => (await runs("crane", args, { env: env() })).stdout;
      assert.deepEqual((await crane("ls", repository)).toString().trim().split("\n"), ["1.0.0", "1.2.0_b.1"]);
      const index = JSON.parse(await crane("manifest", `${repository}:1.0.0`));
      const target = JSON.parse(await crane("manifest", `${repository}@${here(index).digest}`));
      const zip = await crane("blob", `${repository}@${target.layers[0].digest}`);
      assert.equal(sha256(zip), await expected());
      await crane("validate", "--remote", `${repository}:1.0.0`, "--fast");
    });

    test("regctl lists, describes and pulls", { skip: unlessUsable("regctl") }, async (t) => {
      const repository = `${registry.host}/providers/acme/hello`;
      const home = await mkdtemp(join(scratch(t), "home-"));
      const regctl = async (...args) => (await runs("regctl", args, { env: { ...env(), HOME: home } })).stdout;
      assert.deepEqual((await regctl("tag", "ls", repository)).toString().trim().split("\n"), ["1.0.0", "1.2.0_b.1"]);
      const index = JSON.parse(await regctl("manifest", "get", `${repository}:1.0.0`, "--format", "raw-body"));
      const zip = await regctl("artifact", "get", `${repository}@${here(index).digest}`);
      assert.equal(sha256(zip), await expected());
    });

    // Debian's version is older than OCI 1.1: it copies manifests and blobs unchanged, but no index with an
    // `artifactType`.
    test("skopeo lists, describes and pulls", { skip: unlessUsable("skopeo") }, async (t) => {
      const [module, provider] = ["modules/acme/greeting/local", "providers/acme/hello"].map((name) => `docker://${registry.host}/${name}`);
      const skopeo = async (...args) => (await runs("skopeo", args, { env: env() })).stdout;
      assert.deepEqual(JSON.parse(await skopeo("list-tags", module)).Tags, ["1.0.0", "1.1.0"]);
      const index = JSON.parse(await skopeo("inspect", "--raw", `${provider}:1.0.0`));
      assert.equal(index.artifactType, "application/vnd.opentofu.provider");
      for (const [reference, artifactType] of [
        [`${module}:1.0.0`, "application/vnd.opentofu.modulepkg"],
        [`${provider}@${here(index).digest}`, "application/vnd.opentofu.provider-target"],
      ]) {
        const pulled = scratch(t);
        await skopeo("--insecure-policy", "copy", "--preserve-digests", reference, `dir:${pulled}`);
        const text = await readFile(join(pulled, "manifest.json"));
        assert.deepEqual(text, await skopeo("inspect", "--raw", reference));
        const manifest = JSON.parse(text);
        assert.equal(manifest.artifactType, artifactType);
        const layer = manifest.layers[0].digest.replace("sha256:", "");
        assert.equal(sha256(await readFile(join(pulled, layer))), layer);
        if (reference.startsWith(provider)) assert.equal(layer, await expected());
      }
    });
  });
});
