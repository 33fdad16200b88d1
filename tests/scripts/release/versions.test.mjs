// The version in every file, and the order of versions.
import assert from "node:assert/strict";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { root } from "../../../scripts/lib/paths.mjs";
import { checkRelease } from "../../../scripts/release/check.mjs";
import { compareVersions, currentVersion, parseVersion, statedVersions, writeVersions } from "../../../scripts/release/versions.mjs";
import { scratch } from "../../clients/support/scratch.mjs";
import { test } from "../../clients/support/testing.mjs";

/** Texts that name the release to use. */
const DOCUMENTS = ["docs/ci.md", "terrace-action/README.md", "crates/terrace-cli/README.md"];

/** Copies the files of this checkout that state a version. */
async function copyOfThis(t) {
  const directory = scratch(t);
  const files = new Set((await statedVersions(root)).map(({ file }) => file));
  for (const file of [...files, "CHANGELOG.md", ...DOCUMENTS]) {
    await mkdir(dirname(join(directory, file)), { recursive: true });
    await cp(join(root, file), join(directory, file));
  }
  return directory;
}

test("versions are ordered as semantic versioning orders them", () => {
  const ordered = ["0.9.9", "0.10.0-1", "0.10.0-9", "0.10.0-10", "0.10.0-a", "0.10.0-a.1", "0.10.0-b", "0.10.0", "1.0.0"];
  for (let i = 1; i < ordered.length; i += 1) {
    assert.ok(compareVersions(ordered[i - 1], ordered[i]) < 0, `${ordered[i - 1]} < ${ordered[i]}`);
    assert.ok(compareVersions(ordered[i], ordered[i - 1]) > 0);
    assert.equal(compareVersions(ordered[i], ordered[i]), 0);
  }
});

test("a text that is no version is rejected", () => {
  for (const text of [undefined, "", "1.2", "v1.2.3", "1.2.3+b", "01.2.3", "1.2.3\n", "1.2.3-", "latest"]) {
    assert.throws(() => parseVersion(text), /is not a version/, JSON.stringify(text));
  }
});

test("every file of this checkout states the same version", async () => {
  assert.equal(await checkRelease(root), await currentVersion(root));
});

test("a new version is written into every file, and the files stay what they are otherwise", async (t) => {
  const directory = await copyOfThis(t);
  const old = await currentVersion(directory);
  const before = await statedVersions(directory);
  const changed = await writeVersions(directory, "98.7.6");
  const after = await statedVersions(directory);
  assert.equal(after.length, before.length);
  assert.ok(after.length >= 30, "the crates of two lock files are among them");
  assert.deepEqual(new Set(after.map(({ version }) => version)), new Set(["98.7.6"]));
  for (const file of ["Cargo.lock", ...DOCUMENTS]) assert.ok(changed.includes(file), changed.join(", "));
  for (const file of DOCUMENTS) assert.ok(!(await readFile(join(directory, file), "utf8")).includes(old), file);
  await writeVersions(directory, old);
  // A lock file gets the checksum of a package back when that is packed.
  for (const file of changed.filter((name) => name !== "deploy/package-lock.json")) assert.equal(await readFile(join(directory, file), "utf8"), await readFile(join(root, file), "utf8"), file);
});

test("the packages of the Worker and of its deployment are among the files, if they are there", async (t) => {
  const directory = await copyOfThis(t);
  const old = await currentVersion(directory);
  const name = "terrace-registry";
  const locked = { version: old, resolved: `https://registry.npmjs.org/${name}/-/${name}-${old}.tgz`, integrity: "sha512-old", license: "x" };
  const other = { version: old, resolved: `https://registry.npmjs.org/other/-/other-${old}.tgz`, integrity: "sha512-other" };
  const texts = (version, { integrity, ...rest }) => ({
    "packages/worker/package.json": { name, version, other: old },
    "packages/try/package.json": { name: "try", version, dependencies: { a: old, [name]: version } },
    "deploy/package.json": { name: "deploy", version, dependencies: { a: old, [name]: version } },
    "deploy/package-lock.json": {
      name: "deploy",
      version,
      packages: {
        "": { name: "deploy", version, dependencies: { [name]: version } },
        "node_modules/other": other,
        [`node_modules/${name}`]: { version, resolved: rest.resolved, ...(integrity && { integrity }), license: "x" },
      },
    },
  });
  for (const [file, document] of Object.entries(texts(old, locked))) {
    await mkdir(dirname(join(directory, file)), { recursive: true });
    await writeFile(join(directory, file), `${JSON.stringify(document, null, 2)}\n`);
  }
  await writeVersions(directory, "98.7.6");
  const after = texts("98.7.6", { resolved: locked.resolved.replace(old, "98.7.6") });
  for (const [file, document] of Object.entries(after)) assert.deepEqual(JSON.parse(await readFile(join(directory, file), "utf8")), document, file);
  assert.equal(new Set((await statedVersions(directory)).map(({ version }) => version)).size, 1);
});

test("a release is refused with all contradictions between its files", async (t) => {
  const directory = await copyOfThis(t);
  const manifest = await readFile(join(directory, "package.json"), "utf8");
  await writeFile(join(directory, "package.json"), manifest.replace(/"version": ".*"/, '"version": "98.7.6"'));
  await assert.rejects(checkRelease(directory, { tag: "v98.7.6", repository: "https://github.com/acme/terrace" }), ({ message }) => {
    assert.match(message, /package\.json states 98\.7\.6, and Cargo\.toml/);
    assert.match(message, /the tag is v98\.7\.6/);
    assert.match(message, /CHANGELOG\.md has no section/);
    assert.match(message, /names the repository .*, and this is https:\/\/github\.com\/acme\/terrace/);
    return true;
  });
});
