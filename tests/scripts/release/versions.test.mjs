// The version in every file.
import assert from "node:assert/strict";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { root } from "../../../scripts/lib/paths.mjs";
import { checkRelease } from "../../../scripts/release/check.mjs";
import { currentVersion, parseVersion, writeVersions } from "../../../scripts/release/versions.mjs";
import { scratch } from "../../clients/support/scratch.mjs";
import { test } from "../../clients/support/testing.mjs";

/** Copies the files of this checkout that state a version. */
async function copyOfThis(t) {
  const directory = scratch(t);
  for (const file of ["CHANGELOG.md", "Cargo.toml", ...(await writeVersions(root, "98.7.6", { dry: true }))]) {
    await mkdir(dirname(join(directory, file)), { recursive: true });
    await cp(join(root, file), join(directory, file));
  }
  return directory;
}

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
  const changed = await writeVersions(directory, "98.7.6");
  assert.deepEqual(await writeVersions(directory, "98.7.6", { dry: true }), []);
  for (const file of ["Cargo.lock", "fuzz/Cargo.lock", "deploy/package-lock.json", "docs/access.md", "terrace-action/README.md"]) assert.ok(changed.includes(file), changed.join(", "));
  for (const file of ["docs/access.md", "terrace-action/README.md"]) assert.ok(!(await readFile(join(directory, file), "utf8")).includes(old), file);
  const { packages } = JSON.parse(await readFile(join(directory, "deploy", "package-lock.json"), "utf8"));
  const { version, resolved, integrity } = packages["node_modules/terrace-registry"];
  assert.deepEqual([version, resolved, integrity], ["98.7.6", "https://registry.npmjs.org/terrace-registry/-/terrace-registry-98.7.6.tgz", undefined]);
  assert.ok(packages["node_modules/wrangler"].integrity);
  await writeVersions(directory, old);
  for (const file of changed) assert.equal(await readFile(join(directory, file), "utf8"), await readFile(join(root, file), "utf8"), file);
});

test("a release is refused with all contradictions between its files", async (t) => {
  const directory = await copyOfThis(t);
  const manifest = await readFile(join(directory, "package.json"), "utf8");
  await writeFile(join(directory, "package.json"), manifest.replace(/"version": ".*"/, '"version": "98.7.6"'));
  await assert.rejects(checkRelease(directory, { tag: "v98.7.6", repository: "https://github.com/acme/terrace" }), ({ message }) => {
    assert.match(message, /package\.json states another version than Cargo\.toml/);
    assert.match(message, /the tag is v98\.7\.6/);
    assert.match(message, /CHANGELOG\.md has no section/);
    assert.match(message, /names the repository .*, and this is https:\/\/github\.com\/acme\/terrace/);
    return true;
  });
});
