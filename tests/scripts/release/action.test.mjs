// The action that installs the command and publishes with it: its scripts, as its steps run them.
import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isWindows, root } from "../../../scripts/lib/paths.mjs";
import { isOnPath, onPath, run } from "../../../scripts/lib/run.mjs";
import { sha256 } from "../../../scripts/lib/sha256.mjs";
import { packed } from "../../../scripts/release/command.mjs";
import { archiveOf, programFor, stemOf, targetNamed } from "../../../scripts/release/targets.mjs";
import { scratch } from "../../clients/support/scratch.mjs";
import { test } from "../../clients/support/testing.mjs";

const VERSION = "1.2.3";
const ACTION = join(root, "terrace-action");

const missing = ["bash", "jq"].find((name) => !isOnPath(name));
const skip = isWindows ? "the programs here are scripts" : missing ? `${missing} is not on PATH` : false;

/** The programs that the scripts may find, so that a gh of this machine is none of them. */
const PROGRAMS = ["awk", "bash", "cat", "cp", "cut", "gzip", "jq", "mktemp", "perl", "sh", "sha256sum", "shasum", "tar", "touch"];

/** Returns the inputs of the steps of action.yml, as the names of the variables that they set, with the inputs. */
async function variables() {
  const text = await readFile(join(ACTION, "action.yml"), "utf8");
  return [...text.matchAll(/^ {8}([A-Z0-9_]+): \$\{\{ (\S+) \}\}$/gm)].map(([, name, expression]) => ({ name, expression }));
}

/** A machine with a release of the command to download, and without gh, unless `gh` is its script. */
class Runner {
  static async create(t, { target = "x86_64-unknown-linux-musl", version = VERSION, gh } = {}) {
    const runner = new Runner();
    runner.directory = scratch(t);
    runner.programs = join(runner.directory, "programs");
    runner.releases = join(runner.directory, "releases");
    for (const name of ["programs", "releases", "temp", "work"]) await mkdir(join(runner.directory, name));
    for (const name of PROGRAMS.filter(isOnPath)) await symlink(onPath(name), join(runner.programs, name));
    const found = targetNamed(target);
    runner.archive = archiveOf(VERSION, found);
    const program = `#!/bin/sh\necho "terrace ${version} (${target})"\n`;
    await writeFile(join(runner.releases, runner.archive), packed({ [`${stemOf(VERSION, found)}/${programFor(found)}`]: program }, found));
    await runner.lists(sha256(await readFile(join(runner.releases, runner.archive))));
    // The last two arguments are the file and the URL.
    await runner.program("curl", 'for last; do :; done\necho "$last" >> "$LOG"\ncp "$RELEASES/${last##*/}" "${last##*/}"');
    if (gh) await runner.program("gh", gh);
    await writeFile(join(runner.directory, "output"), "");
    return runner;
  }

  /** Writes SHA256SUMS of the release with this checksum. */
  lists(checksum) {
    return writeFile(join(this.releases, "SHA256SUMS"), `${"0".repeat(64)}  other.zip\n${checksum}  ${this.archive}\n`);
  }

  async program(name, text) {
    await writeFile(join(this.programs, name), `#!/bin/sh\n${text}\n`);
    await chmod(join(this.programs, name), 0o755);
  }

  /** Runs a script of the action with these variables; those of other inputs are empty. */
  async runs(script, given = {}) {
    const names = (await variables()).map(({ name }) => [name, ""]);
    const env = {
      ...Object.fromEntries(names),
      ...{ PATH: this.programs, HOME: this.directory },
      ...{ RUNNER_OS: "Linux", RUNNER_ARCH: "X64", RUNNER_TEMP: join(this.directory, "temp"), GITHUB_REPOSITORY: "someone/else" },
      ...{ GITHUB_PATH: join(this.directory, "path"), GITHUB_OUTPUT: join(this.directory, "output") },
      ...{ LOG: join(this.directory, "log"), RELEASES: this.releases },
      ...given,
    };
    const { code, output } = await run("bash", [join(ACTION, script)], { cwd: join(this.directory, "work"), env, check: false });
    return { code, output };
  }

  install(given = {}) {
    return this.runs("install.sh", { VERSION, ACTION_REPOSITORY: "acme/terrace-action", ATTESTATION: "auto", ...given });
  }

  read(name) {
    return readFile(join(this.directory, name), "utf8").catch(() => "");
  }
}

test("every input of the action is used, and only as a variable", { skip }, async () => {
  const text = await readFile(join(ACTION, "action.yml"), "utf8");
  const inputs = [...text.match(/^inputs:\n([^]*?)\n\n/m)[1].matchAll(/^ {2}([a-z0-9-]+):$/gm)].map(([, name]) => `inputs.${name}`);
  const used = (await variables()).map(({ expression }) => expression).filter((expression) => expression.startsWith("inputs."));
  assert.deepEqual([...new Set(used)].sort(), inputs.sort());
  for (const [, script] of text.matchAll(/^ {6}run: (.*)$/gm)) assert.doesNotMatch(script, /\$\{\{/);
});

test("the command is installed after its checksum and its attestation are verified", { skip }, async (t) => {
  const runner = await Runner.create(t, { gh: 'echo "gh $*" >> "$LOG"' });
  const { code, output } = await runner.install();
  assert.equal(code, 0, output);
  assert.match(output, /^terrace 1\.2\.3 \(x86_64-unknown-linux-musl\)$/m);
  const release = "https://github.com/acme/terrace/releases/download/v1.2.3";
  assert.deepEqual((await runner.read("log")).trim().split("\n"), [
    `${release}/${runner.archive}`,
    `${release}/SHA256SUMS`,
    `gh attestation verify ${runner.archive} --repo acme/terrace --signer-workflow acme/terrace/.github/workflows/release.yml`,
  ]);
  const directory = (await runner.read("path")).trim();
  assert.deepEqual(await readdir(directory), ["terrace"]);
});

test("the command is installed for each system with a tar archive", { skip }, async (t) => {
  for (const [os, arch, target] of [["Linux", "ARM64", "aarch64-unknown-linux-musl"], ["macOS", "X64", "x86_64-apple-darwin"], ["macOS", "ARM64", "aarch64-apple-darwin"]]) {
    const runner = await Runner.create(t, { target });
    const { code, output } = await runner.install({ RUNNER_OS: os, RUNNER_ARCH: arch });
    assert.equal(code, 0, output);
    assert.match(output, /gh is not installed, so only the checksum/);
  }
  const { code, output } = await (await Runner.create(t)).install({ RUNNER_ARCH: "ARM" });
  assert.deepEqual([code, /not released for Linux on ARM/.test(output)], [1, true]);
});

test("an archive with another checksum, version or without a valid attestation is refused, and not put on PATH", { skip }, async (t) => {
  const changed = await Runner.create(t);
  await changed.lists("f".repeat(64));
  const unlisted = await Runner.create(t);
  await writeFile(join(unlisted.releases, "SHA256SUMS"), "");
  const absent = await Runner.create(t);
  await rm(join(absent.releases, absent.archive));
  for (const [runner, given, expected] of [
    [changed, {}, /has the SHA-256 checksum [0-9a-f]{64}, and not f{64}/],
    [await Runner.create(t), { SHA256: "e".repeat(64) }, /and not e{64}/],
    [unlisted, {}, /does not list terrace-1\.2\.3-x86_64/],
    [absent, {}, /could not be downloaded/],
    [await Runner.create(t, { gh: "exit 1" }), {}, /has no valid attestation of the release workflow of acme\/terrace/],
    [await Runner.create(t, { gh: "exit 1" }), { ATTESTATION: "require" }, /has no valid attestation/],
    [await Runner.create(t), { ATTESTATION: "require" }, /require needs gh/],
    [await Runner.create(t), { ATTESTATION: "no" }, /none of auto, require and skip/],
    [await Runner.create(t, { version: "1.2.4" }), {}, /holds another version: terrace 1\.2\.4/],
  ]) {
    const { code, output } = await runner.install(given);
    assert.equal(code, 1, output);
    assert.match(output, expected);
    assert.equal(await runner.read("path"), "");
  }
});

test("a given checksum replaces that of the release", { skip }, async (t) => {
  const runner = await Runner.create(t);
  await rm(join(runner.releases, "SHA256SUMS"));
  const checksum = sha256(await readFile(join(runner.releases, runner.archive)));
  const { code, output } = await runner.install({ SHA256: checksum, REPOSITORY: "acme/terrace", ATTESTATION: "skip" });
  assert.equal(code, 0, output);
});

test("inputs that are no version, repository or checksum are refused before anything is downloaded", { skip }, async (t) => {
  const runner = await Runner.create(t);
  for (const given of [
    ...["1.2.3/../../x", "1.2.3;id", "latest", "$(id)", "-1.2.3"].map((VERSION) => ({ VERSION })),
    ...["acme", "acme/terrace/x", "acme/$(id)", "../x y"].map((REPOSITORY) => ({ REPOSITORY })),
    ...["E".repeat(64), "e", `${"e".repeat(64)}\n${"f".repeat(64)}`].map((SHA256) => ({ SHA256 })),
  ]) {
    const { code, output } = await runner.install(given);
    assert.equal(code, 1, JSON.stringify(given));
    assert.match(output, /::error title=Terrace::/);
  }
  assert.equal(await runner.read("log"), "");
});

/** A command that writes its arguments into the log, and reports what a publish does. */
const TERRACE = 'for argument; do echo "$argument" >> "$LOG"; done\nprintf "%s" "$REPORT"\nexit "${CODE:-0}"';

async function publisher(t) {
  const runner = await Runner.create(t);
  await runner.program("terrace", TERRACE);
  return async (given) => {
    await rm(join(runner.directory, "log"), { force: true });
    await writeFile(join(runner.directory, "output"), "");
    const { code, output } = await runner.runs("publish.sh", { REPORT: '{"status":"created","version":"1.0.0"}', ...given });
    const log = (await runner.read("log")).trim();
    return { code, output, arguments: log === "" ? [] : log.split("\n"), outputs: await runner.read("output") };
  };
}

test("a provider and modules are published with the arguments that the inputs name", { skip }, async (t) => {
  const publish = await publisher(t);
  for (const [given, expected] of [
    [{ NAMESPACE: "acme" }, ["publish", "provider", "--json", "--namespace=acme", "--", "dist"]],
    [{ NAMESPACE: "acme", PLACE: "out dir", DOCS: "docs", DRY_RUN: "true" }, ["publish", "provider", "--json", "--namespace=acme", "--docs=docs", "--dry-run", "--", "out dir"]],
    [{ NAMESPACE: "acme", DOCS: "require", DRY_RUN: "false", LATEST: "false" }, ["publish", "provider", "--json", "--namespace=acme", "--require-docs", "--", "dist"]],
    [{ ADDRESS: "acme/{name}/aws" }, ["publish", "modules", "--json", "--address=acme/{name}/aws", "--", "."]],
    [
      { ADDRESS: "acme/vpc/aws", TAG: "v{version}", DIRECTORIES: "tf/{name}", MODULE_VERSION: "1.0.0", LATEST: "true", DOCS: "none", PLACE: "modules" },
      ["publish", "modules", "--json", "--address=acme/vpc/aws", "--tag=v{version}", "--path=tf/{name}", "--version=1.0.0", "--latest", "--no-docs", "--", "modules"],
    ],
  ]) {
    const published = await publish(given);
    assert.equal(published.code, 0, published.output);
    assert.deepEqual(published.arguments, expected);
    assert.equal(published.outputs, "status=created\nversion=1.0.0\n");
  }
});

test("contradictory inputs are refused before the command runs", { skip }, async (t) => {
  const publish = await publisher(t);
  for (const given of [{}, { NAMESPACE: "acme", ADDRESS: "a/b/c" }, { NAMESPACE: "acme", TAG: "v*" }, { NAMESPACE: "acme", LATEST: "true" }, { ADDRESS: "a/b/c", DOCS: "docs" }]) {
    const refused = await publish(given);
    assert.equal(refused.code, 2, JSON.stringify(given));
    assert.deepEqual(refused.arguments, []);
  }
});

test("no input runs as a command, becomes an option, or sets another output", { skip }, async (t) => {
  const publish = await publisher(t);
  const hostile = ["$(touch pwned)", "`touch pwned`", '"; touch pwned; "', "--dry-run", "-h", "* ?", "a'b"];
  for (const value of hostile) {
    for (const name of ["NAMESPACE", "ADDRESS"]) {
      const published = await publish({ [name]: value, PLACE: value });
      const flag = name === "NAMESPACE" ? "--namespace" : "--address";
      assert.deepEqual(published.arguments.slice(2), ["--json", `${flag}=${value}`, "--", value]);
    }
  }
  const report = JSON.stringify({ status: "created\nother=1", version: "1\r\nPATH=x" });
  assert.equal((await publish({ NAMESPACE: "acme", REPORT: report })).outputs, "status=createdother=1\nversion=1PATH=x\n");
});

test("a failed publish ends with the exit code of the command, and shows its report", { skip }, async (t) => {
  const publish = await publisher(t);
  const refused = await publish({ NAMESPACE: "acme", REPORT: '{"status":"error","error":"the version exists"}', CODE: "4" });
  assert.equal(refused.code, 4);
  assert.match(refused.output, /the version exists/);
  const crashed = await publish({ NAMESPACE: "acme", REPORT: "no JSON", CODE: "101" });
  assert.equal(crashed.code, 101);
  assert.match(crashed.output, /no JSON/);
});

test("a check annotates the lines that use a version with something against it, and ends with the code of the command", { skip }, async (t) => {
  const runner = await Runner.create(t);
  await runner.program("terrace", TERRACE);
  const used = (state, reason, ...places) => ({ address: "acme/vpc/aws", version: "1.0.0", state, reason, places });
  const packages = [
    used("revoked", "100%\n::error::x", { file: "a,b:c/main.tf", line: 3 }, { file: ".terraform/modules/modules.json" }),
    used("deprecated", undefined, { file: "main.tf", line: 9 }),
    used("active", undefined, { file: "main.tf", line: 1 }),
  ];
  const REPORT = JSON.stringify({ packages });
  const checked = await runner.runs("check.sh", { CHECK: "strict", PLACE: "-x", REPORT, CODE: "3" });
  assert.equal(checked.code, 3);
  assert.deepEqual((await runner.read("log")).trim().split("\n"), ["check", "--json", "--strict", "--", "-x"]);
  assert.deepEqual(checked.output.split("\n").filter((line) => line.startsWith("::")), [
    "::error title=Terrace,file=a%2Cb%3Ac/main.tf,line=3::acme/vpc/aws 1.0.0 is revoked: 100%25%0A::error::x",
    "::error title=Terrace,file=.terraform/modules/modules.json,line=1::acme/vpc/aws 1.0.0 is revoked: 100%25%0A::error::x",
    "::warning title=Terrace,file=main.tf,line=9::acme/vpc/aws 1.0.0 is deprecated",
  ]);
  assert.equal((await runner.runs("check.sh", { CHECK: "yes" })).code, 2);
});
