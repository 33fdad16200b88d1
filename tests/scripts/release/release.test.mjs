// `npm run release` in a repository of its own.
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { run } from "../../../scripts/lib/run.mjs";
import { checkRelease } from "../../../scripts/release/check.mjs";
import { release, sectionOf } from "../../../scripts/release/release.mjs";
import { currentVersion } from "../../../scripts/release/versions.mjs";
import { scratch } from "../../clients/support/scratch.mjs";
import { test } from "../../clients/support/testing.mjs";

const DATE = "2026-05-04";

const FILES = {
  "Cargo.toml": '[workspace]\n\n[workspace.package]\nedition = "2024"\nversion = "1.2.0"\nrepository = "https://github.com/acme/terrace"\n',
  "Cargo.lock": '[[package]]\nname = "terrace"\nversion = "1.2.0"\n\n[[package]]\nname = "terrace-core"\nversion = "1.2.0"\ndependencies = []\n\n[[package]]\nname = "serde"\nversion = "1.2.0"\nsource = "x"\n',
  "fuzz/Cargo.lock": '[[package]]\nname = "terrace-core"\nversion = "1.2.0"\n\n[[package]]\nname = "terrace-fuzz"\nversion = "0.0.0"\n',
  "package.json": '{\n  "version": "1.2.0"\n}\n',
  "package-lock.json": '{\n  "version": "1.2.0",\n  "packages": {\n    "": {\n      "version": "1.2.0"\n    }\n  }\n}\n',
  "docs/openapi.yaml": "openapi: 3.1.0\ninfo:\n  title: T\n  version: 1.2.0\n",
  "terrace-action/install.sh": "own=1.2.0\n",
  "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n\n## [1.2.0] - 2026-01-01\n\n- The old.\n",
};

/** Creates a repository with these files, committed. */
async function repository(t, files = FILES) {
  const directory = scratch(t);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), text);
  }
  const git = async (...args) => (await run("git", args, { cwd: directory })).stdout.trim();
  await git("init", "--quiet");
  for (const [name, value] of Object.entries({ "user.name": "T", "user.email": "t@example.com", "commit.gpgsign": "false", "tag.gpgsign": "false" })) {
    await git("config", name, value);
  }
  await git("add", ".");
  await git("commit", "--quiet", "--message", "before");
  return { directory, git, read: (name) => readFile(join(directory, name), "utf8") };
}

test("a release is one commit with the version and the changelog, and a tag on it", async (t) => {
  const { directory, git, read } = await repository(t);
  await release(directory, "1.3.0", { date: DATE });
  assert.equal(await git("status", "--porcelain"), "");
  assert.equal(await git("log", "--format=%s"), "release: 1.3.0\nbefore");
  assert.equal(await git("rev-parse", "v1.3.0^{commit}"), await git("rev-parse", "HEAD"));
  assert.equal(await git("cat-file", "-t", "v1.3.0"), "tag");
  assert.equal(await checkRelease(directory, { tag: "v1.3.0", repository: "https://github.com/acme/terrace" }), "1.3.0");
  const changelog = await read("CHANGELOG.md");
  assert.match(changelog, /## \[Unreleased\]\n\n## \[1\.3\.0\] - 2026-05-04\n\n### Added\n\n- A thing\.\n\n## \[1\.2\.0\]/);
  assert.equal(sectionOf(changelog, "1.3.0"), "### Added\n\n- A thing.");
  assert.match(await read("Cargo.lock"), /name = "serde"\nversion = "1\.2\.0"/);
  assert.match(await read("fuzz/Cargo.lock"), /name = "terrace-fuzz"\nversion = "0\.0\.0"/);
});

test("the version of the checkout itself can be released, once", async (t) => {
  const { directory, git } = await repository(t, { ...FILES, "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n- A thing.\n" });
  await release(directory, "1.2.0", { date: DATE });
  assert.equal(await git("show", "--format=", "--name-only"), "CHANGELOG.md");
  await assert.rejects(release(directory, "1.2.0", { date: DATE }), /the tag v1\.2\.0 exists/);
});

test("a dry run changes nothing", async (t) => {
  const { directory, git } = await repository(t);
  await release(directory, "1.3.0", { date: DATE, dryRun: true });
  assert.equal(await git("status", "--porcelain"), "");
  assert.equal(await git("tag"), "");
  assert.equal(await currentVersion(directory), "1.2.0");
});

test("a release is refused if it would contain something unreviewed, or say nothing", async (t) => {
  const dirty = await repository(t);
  await writeFile(join(dirty.directory, "new.txt"), "");
  await assert.rejects(release(dirty.directory, "1.3.0", { date: DATE }), /not committed.*\n\?\? new\.txt/);

  const older = await repository(t);
  await assert.rejects(release(older.directory, "1.1.9", { date: DATE }), /older than 1\.2\.0/);
  await assert.rejects(release(older.directory, "v1.3.0", { date: DATE }), /is not a version/);

  const silent = await repository(t, { ...FILES, "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-01\n" });
  await assert.rejects(release(silent.directory, "1.3.0", { date: DATE }), /names no unreleased changes/);
  await assert.rejects(release(silent.directory, "1.2.0", { date: DATE }), /already has a section 1\.2\.0/);
  for (const { git } of [dirty, older, silent]) assert.equal(await git("log", "--format=%s"), "before");
});
