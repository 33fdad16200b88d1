// The files of a release: archives, checksums, the formula, the image, and the arguments with which they are published.
import assert from "node:assert/strict";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { unzipSync } from "fflate";

import { root } from "../../../scripts/lib/paths.mjs";
import { run } from "../../../scripts/lib/run.mjs";
import { sha256 } from "../../../scripts/lib/sha256.mjs";
import { artefacts, requireArchives, requireEqualDigests, writeChecksums } from "../../../scripts/release/assemble.mjs";
import { packed } from "../../../scripts/release/command.mjs";
import { formulaOf } from "../../../scripts/release/formula.mjs";
import { namesOf, stage } from "../../../scripts/release/image.mjs";
import { releaseArguments } from "../../../scripts/release/publish-github.mjs";
import { tagOf } from "../../../scripts/release/publish-npm.mjs";
import { archiveOf, programFor, stemOf, targetNamed, TARGETS } from "../../../scripts/release/targets.mjs";
import { channelsOf, taggedVersions } from "../../../scripts/release/versions.mjs";
import { scratch } from "../../clients/support/scratch.mjs";
import { test } from "../../clients/support/testing.mjs";

const VERSION = "1.2.3";
const REPOSITORY = "https://github.com/acme/terrace";

/** Returns the files of an archive. */
function contents(target) {
  const directory = stemOf(VERSION, target);
  const names = [programFor(target), "LICENSE", "README.md", "CHANGELOG.md", "THIRD-PARTY-LICENSES.md"];
  return Object.fromEntries(names.map((name) => [`${directory}/${name}`, `${name} of ${target.target}`]));
}

/** Creates a directory with the archives of all targets. */
async function distribution(t) {
  const directory = scratch(t);
  for (const target of TARGETS) await writeFile(join(directory, archiveOf(VERSION, target)), packed(contents(target), target));
  return directory;
}

test("an archive holds an executable program and its licences in one directory, with the same bytes each time", async (t) => {
  const directory = await distribution(t);
  const target = targetNamed("aarch64-unknown-linux-musl");
  const file = join(directory, "terrace-1.2.3-aarch64-unknown-linux-musl.tar.gz");
  await run("tar", ["-xzf", file, "-C", directory]);
  const extracted = join(directory, "terrace-1.2.3-aarch64-unknown-linux-musl");
  assert.equal((await stat(join(extracted, "terrace"))).mode & 0o777, 0o755);
  assert.equal((await stat(join(extracted, "LICENSE"))).mode & 0o777, 0o644);
  assert.equal(await readFile(join(extracted, "terrace"), "utf8"), "terrace of aarch64-unknown-linux-musl");
  assert.equal(sha256(packed(contents(target), target)), sha256(await readFile(file)));
  const windows = unzipSync(await readFile(join(directory, "terrace-1.2.3-x86_64-pc-windows-msvc.zip")));
  assert.ok("terrace-1.2.3-x86_64-pc-windows-msvc/terrace.exe" in windows);
  assert.throws(() => targetNamed("riscv64gc-unknown-linux-gnu"), /not released for riscv64gc/);
});

test("cargo binstall finds the archives by the metadata of the package", async () => {
  const { stdout } = await run("cargo", ["metadata", "--no-deps", "--format-version", "1"]);
  const { version, repository, metadata } = JSON.parse(stdout).packages.find(({ name }) => name === "terrace-cli");
  const { overrides, ...common } = metadata.binstall;
  for (const target of TARGETS) {
    const { "pkg-url": url, "pkg-fmt": format, "bin-dir": program } = { ...common, ...overrides[target.target] };
    const suffix = { tgz: ".tar.gz", zip: ".zip" }[format];
    const filled = (text) =>
      text.replace(/\{ ([a-z-]+) \}/g, (_, name) => {
        const values = { repo: repository, version, target: target.target, bin: "terrace", "archive-suffix": suffix };
        return { ...values, "binary-ext": programFor(target).slice("terrace".length) }[name];
      });
    assert.equal(filled(url), `${repository}/releases/download/v${version}/${archiveOf(version, target)}`);
    assert.equal(filled(program), `${stemOf(version, target)}/${programFor(target)}`);
  }
});

test("SHA256SUMS lists every file of the release, in the format of sha256sum", async (t) => {
  const directory = await distribution(t);
  for (const name of ["first.digests", "NOTES.md", "SHA256SUMS", "worker-1.2.3.tgz"]) await writeFile(join(directory, name), name);
  const names = await artefacts(directory);
  assert.deepEqual(names, [...TARGETS.map((target) => archiveOf(VERSION, target)), "worker-1.2.3.tgz"].sort());
  await writeChecksums(directory);
  const { stdout } = await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: directory });
  assert.deepEqual(stdout.trim().split("\n"), names.map((name) => `${name}: OK`));
});

test("a release without the archive of a target, or with a Worker that is not reproducible, is refused", async (t) => {
  const directory = await distribution(t);
  await requireArchives(directory, VERSION);
  await assert.rejects(requireArchives(directory, "1.2.4"), /missing: terrace-1\.2\.4-x86_64-unknown-linux-musl\.tar\.gz, .*\.zip$/);
  await assert.rejects(requireEqualDigests(directory), /the digests of 0 builds/);
  await writeFile(join(directory, "first.digests"), "a  build/index.js\n");
  await assert.rejects(requireEqualDigests(directory), /the digests of 1 builds/);
  await writeFile(join(directory, "second.digests"), "b  build/index.js\n");
  await assert.rejects(requireEqualDigests(directory), /differ:\nfirst\.digests:\na .*\nsecond\.digests:\nb /);
  await writeFile(join(directory, "second.digests"), "a  build/index.js\n");
  assert.equal(await requireEqualDigests(directory), "a  build/index.js\n");
});

test("the formula names each archive for Homebrew's systems, with its checksum", () => {
  const checksums = new Map(TARGETS.map((target, i) => [archiveOf(VERSION, target), String(i).repeat(64)]));
  const formula = formulaOf(VERSION, checksums, REPOSITORY);
  const url = (target) => `url "${REPOSITORY}/releases/download/v1.2.3/terrace-1.2.3-${target}.tar.gz"`;
  for (const [system, processor, target, digit] of [
    ["macos", "arm", "aarch64-apple-darwin", 3],
    ["macos", "intel", "x86_64-apple-darwin", 2],
    ["linux", "arm", "aarch64-unknown-linux-musl", 1],
    ["linux", "intel", "x86_64-unknown-linux-musl", 0],
  ]) {
    const block = formula.match(new RegExp(`on_${system} do\\n[^]*?on_${processor} do\\n([^]*?) {4}end`))[1];
    assert.equal(block.trim().replace(/\s+/g, " "), `${url(target)} sha256 "${String(digit).repeat(64)}"`);
  }
  assert.throws(() => formulaOf("1.2.4", checksums, REPOSITORY), /no checksum of terrace-1\.2\.4/);
});

test("the image holds the program of each platform and its licences", async (t) => {
  const archives = await distribution(t);
  const context = join(archives, "context");
  await mkdir(context);
  await stage(archives, context, VERSION);
  assert.equal(await readFile(join(context, "amd64", "terrace"), "utf8"), "terrace of x86_64-unknown-linux-musl");
  assert.equal(await readFile(join(context, "arm64", "terrace"), "utf8"), "terrace of aarch64-unknown-linux-musl");
  const lines = (await readFile(join(context, "Dockerfile"), "utf8")).matchAll(/^(?:COPY|ADD) (.+) \/\S*$/gm);
  for (const file of [...lines].flatMap(([, files]) => files.split(" "))) await stat(join(context, file.replace("${TARGETARCH}", "arm64")));
  const { stdout } = await run("tar", ["--list", "--verbose", "--file", join(context, "tmp.tar")]);
  assert.match(stdout, /^drwxrwxrwt .* tmp\/$/m);
});

test("only a version that is the newest of all becomes the latest", () => {
  const tagged = ["1.2.2", "1.2.3", "1.3.0", "1.3.1-rc.1", "2.0.0-rc.1"];
  const names = (version) => namesOf("acme/terrace", version, channelsOf(version, tagged)).map((name) => name.replace("acme/terrace:", ""));
  assert.deepEqual(names("1.3.0"), ["1.3.0", "1.3", "latest"]);
  assert.deepEqual(names("1.2.3"), ["1.2.3", "1.2"]);
  assert.deepEqual(names("1.2.2"), ["1.2.2"]);
  assert.deepEqual(names("1.10.0"), ["1.10.0", "1.10", "latest"]);
  assert.deepEqual(names("2.0.0-rc.1"), ["2.0.0-rc.1"]);

  const tag = (version) => tagOf(version, channelsOf(version, tagged));
  assert.deepEqual([tag("1.3.0"), tag("1.2.3"), tag("2.0.0-rc.1")], ["latest", "release-1.2", "next"]);

  const flags = (version) => releaseArguments(`v${version}`, "dist", [], channelsOf(version, tagged)).slice(-1);
  assert.deepEqual([flags("1.3.0"), flags("1.2.3"), flags("2.0.0-rc.1")], [["--latest=true"], ["--latest=false"], ["--prerelease"]]);
});

test("the tags of other releases are read from the repository, which must be a complete clone", async (t) => {
  const [directory, shallow] = [scratch(t), join(scratch(t), "shallow")];
  const git = (...args) => run("git", args, { cwd: directory });
  await git("init", "--quiet");
  const author = ["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"];
  for (const message of ["first", "second"]) await git(...author, "commit", "--quiet", "--allow-empty", "--message", message);
  for (const name of ["v1.2.0", "v1.3.0-rc.1", "v1", "vendor"]) await git("tag", "--no-sign", name);
  assert.deepEqual((await taggedVersions(directory)).sort(), ["1.2.0", "1.3.0-rc.1"]);

  await run("git", ["clone", "--quiet", "--depth", "1", `file://${directory}`, shallow]);
  await assert.rejects(taggedVersions(shallow), /not a complete clone.*git fetch --unshallow --tags/);
});

test("every script that the workflow runs exists", async () => {
  const workflow = await readFile(join(root, ".github", "workflows", "release.yml"), "utf8");
  const scripts = [...workflow.matchAll(/node (scripts\/[a-z/-]+\.mjs)/g)].map(([, script]) => script);
  assert.ok(scripts.length >= 7, scripts.join(", "));
  for (const script of scripts) await stat(join(root, script));
});
