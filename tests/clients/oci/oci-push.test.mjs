// Pushes by OCI Distribution with clients of other projects, including the walk-through of OpenTofu's page.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { sha256, zip } from "../support/archives.mjs";
import { networkMirror, ociHome, ociMirror, onlyLinux, usingProvider, withEachClient } from "../support/client.mjs";
import { run, runs, unlessOnPath } from "../support/programs.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { ELSEWHERE, HERE } from "../support/releases.mjs";
import { describe, test } from "../support/testing.mjs";

/** The `skip` option of a test that needs a client. */
const unlessUsable = (program) => onlyLinux || unlessOnPath(program);

const INDEX = "application/vnd.oci.image.index.v1+json";
const VERSION = "4.0.6";

/** A user of these programs with their own home directory, who logs in with the admin token as the password. */
async function user(t, registry) {
  const { cwd: home, env } = await ociHome(t, registry);
  const calls = (program) => async (...args) => (await runs(program, args, { env, cwd: home })).stdout.toString();
  return { home, env, calls, password: registry.secrets.adminToken };
}

/** Writes the zips of a provider to files; returns their names by platform. */
async function downloads(home, type = "tls") {
  const names = {};
  for (const platform of [HERE, ELSEWHERE]) {
    const program = `#!/bin/sh\n# ${type} for ${platform}\n`;
    names[platform] = `terraform-provider-${type}_${VERSION}_${platform}.zip`;
    await writeFile(join(home, names[platform]), zip({ [`terraform-provider-${type}_v${VERSION}`]: program }, 0o755));
  }
  return names;
}

describe("oras", { skip: unlessUsable("oras") }, () => inBothModes((mode) => {
  const registry = useRegistry({ mode, https: true });

  /** Pushes a provider as OpenTofu's page describes, command by command. */
  async function walkThrough(t, repository) {
    const { home, calls, password } = await user(t, registry);
    const oras = calls("oras");
    const zips = await downloads(home);
    await oras("login", registry.host, "--username", "anybody", "--password", password);
    for (const [platform, file] of Object.entries(zips)) {
      await oras(
        ...["push", "--artifact-type", "application/vnd.opentofu.provider-target"],
        ...["--artifact-platform", platform.replace("_", "/"), "--oci-layout", `tmp-layout:${platform}`, `${file}:archive/zip`],
      );
    }
    const layout = JSON.parse(await readFile(join(home, "tmp-layout", "index.json"), "utf8"));
    const manifests = layout.manifests.map((descriptor) => {
      const [os, architecture] = descriptor.annotations["org.opencontainers.image.ref.name"].split("_");
      return { ...descriptor, platform: { os, architecture } };
    });
    const index = { ...layout, mediaType: INDEX, artifactType: "application/vnd.opentofu.provider", manifests };
    await writeFile(join(home, "provider.json"), JSON.stringify(index));
    await oras("manifest", "push", "--oci-layout", `tmp-layout:${VERSION}`, "provider.json");
    await oras("cp", "--from-oci-layout", `tmp-layout:${VERSION}`, `${registry.host}/${repository}:${VERSION}`);
    return { home, oras, zips };
  }

  test("the page's walk-through succeeds, and the pulled zip equals the pushed one (11.1, 11.2, 11.6)", async (t) => {
    const repository = "opentofu-providers/walk/tls";
    const { home, oras, zips } = await walkThrough(t, repository);
    const target = `${registry.host}/${repository}`;
    assert.deepEqual((await oras("repo", "tags", target)).trim().split("\n"), [VERSION]);
    const pulled = await mkdtemp(join(home, "pulled-"));
    await oras("pull", "--platform", HERE.replace("_", "/"), "--output", pulled, `${target}:${VERSION}`);
    const bytes = await Promise.all([home, pulled].map((directory) => readFile(join(directory, zips[HERE]))));
    assert.equal(sha256(bytes[1]), sha256(bytes[0]));
    // The copy mounts the blobs of this repository.
    await oras("cp", "--recursive", `${target}:${VERSION}`, `${registry.host}/copies/tls:latest`);
    assert.deepEqual((await oras("repo", "tags", `${registry.host}/copies/tls`)).trim().split("\n"), ["latest"]);
  });

  test("an index of existing manifests is accepted, and a stray tag is not listed as a version (11.8, 14.1)", async (t) => {
    const { home, calls, password } = await user(t, registry);
    const oras = calls("oras");
    const zips = await downloads(home);
    await oras("login", registry.host, "--username", "anybody", "--password", password);
    const target = `${registry.host}/opentofu-providers/index/tls`;
    for (const [platform, file] of Object.entries(zips)) {
      await oras(
        ...["push", "--artifact-type", "application/vnd.opentofu.provider-target"],
        ...["--artifact-platform", platform.replace("_", "/"), `${target}:${VERSION}_${platform.replace("_", "-")}`, `${file}:archive/zip`],
      );
    }
    const parts = Object.keys(zips).map((platform) => `${VERSION}_${platform.replace("_", "-")}`);
    await oras("manifest", "index", "create", "--artifact-type", "application/vnd.opentofu.provider", `${target}:${VERSION}`, ...parts);
    assert.deepEqual((await oras("repo", "tags", target)).trim().split("\n"), [VERSION]);
    await oras("manifest", "fetch", `${target}:${parts[0]}`);
    const { archives } = await registry.json(`/mirror/registry.opentofu.org/index/tls/${VERSION}.json`);
    assert.deepEqual(Object.keys(archives).sort(), [HERE, ELSEWHERE].sort());
  });

  test("a referrer of an artifact is discovered and deleted (11.7)", async (t) => {
    const { home, calls, password } = await user(t, registry);
    const oras = calls("oras");
    await oras("login", registry.host, "--username", "anybody", "--password", password);
    await writeFile(join(home, "file.txt"), "something");
    const target = `${registry.host}/team/app:latest`;
    await oras("push", target, "file.txt");
    await oras("attach", "--artifact-type", "application/vnd.example.note", target, "file.txt");
    const found = JSON.parse(await oras("discover", "--format", "json", target));
    const referrers = found.referrers ?? found.manifests;
    assert.deepEqual(referrers.map(({ artifactType }) => artifactType), ["application/vnd.example.note"]);
    await oras("manifest", "delete", "--force", `${registry.host}/team/app@${referrers[0].digest}`);
    await oras("manifest", "delete", "--force", target);
    await oras("blob", "delete", "--force", `${registry.host}/team/app@sha256:${sha256("something")}`);
  });

  withEachClient((client) => {
    test("a pushed provider is installed from the network mirror", { skip: onlyLinux }, async (t) => {
      const repository = `opentofu-providers/mirrored-${client.name}/tls`;
      const { home, zips } = await walkThrough(t, repository);
      const source = `registry.opentofu.org/mirrored-${client.name}/tls`;
      const files = { "main.tf": usingProvider(source, VERSION) };
      const found = await client.workspace(t, registry, files, { config: networkMirror(registry) });
      assert.match((await found.runs("init")).said, new RegExp(`Installed \\S*mirrored-${client.name}/tls v${VERSION}`));
      // Terraform locks only hashes that it has computed, OpenTofu also those that the mirror listed.
      const { zh } = await found.lockedHashes();
      const wanted = sha256(await readFile(join(home, zips[HERE])));
      if (client.name === "tofu") assert.deepEqual(zh, [wanted]);
    });

    if (client.name !== "tofu") return;

    test("a pushed provider is installed by oci_mirror from its own repository (6.3, 6.6)", { skip: onlyLinux }, async (t) => {
      await walkThrough(t, "opentofu-providers/direct/tls");
      const files = { "main.tf": usingProvider("registry.opentofu.org/direct/tls", `~> ${VERSION}`) };
      const config = ociMirror(registry, "opentofu-providers/${namespace}/${type}", "registry.opentofu.org/*/*");
      const found = await client.workspace(t, registry, files, { config });
      assert.match((await found.runs("init")).said, new RegExp(`direct/tls v${VERSION}`));
    });
  });
}));

describe("clients of other projects", () => inBothModes((mode) => {
  const registry = useRegistry({ mode, https: true });

  /** Creates an image of one layer in a directory, which every client can copy. */
  async function image(home) {
    const config = Buffer.from('{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]},"config":{}}');
    const layer = zip({ "file.txt": `a file for ${home}` });
    const blob = async (bytes) => {
      const directory = join(home, "layout", "blobs", "sha256");
      await mkdir(directory, { recursive: true });
      await writeFile(join(directory, sha256(bytes)), bytes);
      return { digest: `sha256:${sha256(bytes)}`, size: bytes.length };
    };
    const manifest = {
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      config: { mediaType: "application/vnd.oci.image.config.v1+json", ...(await blob(config)) },
      layers: [{ mediaType: "application/vnd.oci.image.layer.v1.tar", ...(await blob(layer)) }],
    };
    const described = { mediaType: manifest.mediaType, ...(await blob(Buffer.from(JSON.stringify(manifest)))) };
    const named = { ...described, annotations: { "org.opencontainers.image.ref.name": "latest" } };
    await writeFile(join(home, "layout", "index.json"), JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [named] }));
    await writeFile(join(home, "layout", "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
    return { digest: described.digest, layer };
  }

  test("crane pushes, copies, tags, pulls and deletes", { skip: unlessUsable("crane") }, async (t) => {
    const { home, calls, password } = await user(t, registry);
    const crane = calls("crane");
    const { digest, layer } = await image(home);
    await crane("auth", "login", registry.host, "--username", "anybody", "--password", password);
    const target = `${registry.host}/crane/app`;
    await crane("push", "layout", `${target}:latest`);
    assert.equal((await crane("digest", `${target}:latest`)).trim(), digest);
    await crane("tag", `${target}:latest`, "other");
    await crane("copy", `${target}:latest`, `${registry.host}/crane/copy:latest`);
    assert.deepEqual((await crane("ls", target)).trim().split("\n"), ["latest", "other"]);
    const { stdout } = await runs("crane", ["blob", `${registry.host}/crane/copy@sha256:${sha256(layer)}`], await user(t, registry));
    assert.equal(sha256(stdout), sha256(layer));
    await crane("delete", `${target}@${digest}`);
    const { code } = await run("crane", ["digest", `${target}:other`], await user(t, registry));
    assert.notEqual(code, 0);
  });

  test("regctl pushes in chunks, copies, pulls and deletes", { skip: unlessUsable("regctl") }, async (t) => {
    const { home, calls, password } = await user(t, registry);
    const regctl = calls("regctl");
    await regctl("registry", "login", registry.host, "--user", "anybody", "--pass", password);
    await regctl("registry", "set", registry.host, "--blob-chunk", "1000", "--blob-max", "2500");
    const { digest } = await image(home);
    await regctl("image", "copy", "ocidir://layout:latest", `${registry.host}/regctl/app:latest`);
    assert.equal((await regctl("manifest", "head", `${registry.host}/regctl/app:latest`)).trim(), digest);
    await writeFile(join(home, "file.bin"), Buffer.alloc(12_345, "chunks "));
    const target = `${registry.host}/regctl/artifact:latest`;
    await regctl("artifact", "put", "--artifact-type", "application/vnd.example", "--file", "file.bin", target);
    const { stdout } = await runs("regctl", ["artifact", "get", target], { env: (await user(t, registry)).env });
    assert.equal(sha256(stdout), sha256(Buffer.alloc(12_345, "chunks ")));
    await regctl("tag", "delete", target);
    await regctl("image", "copy", `${registry.host}/regctl/app:latest`, `${registry.host}/regctl/copy:latest`);
    await regctl("manifest", "delete", `${registry.host}/regctl/app@${digest}`);
  });

  test("skopeo copies to and from, and deletes", { skip: unlessUsable("skopeo") }, async (t) => {
    const { home, calls, password } = await user(t, registry);
    const skopeo = calls("skopeo");
    const { digest } = await image(home);
    const target = `docker://${registry.host}/skopeo/app:latest`;
    const policy = ["--insecure-policy"];
    const copy = [...policy, "copy", "--preserve-digests"];
    await skopeo(...copy, "--dest-creds", `anybody:${password}`, "oci:layout:latest", target);
    await skopeo(...copy, target, "oci:pulled:latest");
    const { manifests } = JSON.parse(await readFile(join(home, "pulled", "index.json"), "utf8"));
    assert.equal(manifests[0].digest, digest);
    await skopeo(...policy, "delete", "--creds", `anybody:${password}`, target);
  });
}));
