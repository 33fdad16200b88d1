// `node scripts/release/command.mjs TARGET [--program FILE]`: builds the `terrace` command for one of the released targets, runs
// it, and packs it into dist/ with the licences of everything in it. With `--program` the program is there already.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { tarGz, zip } from "../lib/archives.mjs";
import { isMain, root } from "../lib/paths.mjs";
import { ask, run } from "../lib/run.mjs";
import { main, say, step } from "../lib/step.mjs";
import { COMMAND_FEATURES } from "./dependencies.mjs";
import { LICENCES_FILE, licencesOf } from "./licences.mjs";
import { releaseFlags } from "./rust-flags.mjs";
import { archiveOf, programFor, stemOf, targetNamed } from "./targets.mjs";
import { currentVersion } from "./versions.mjs";

const FORMATS = { "tar.gz": tarGz, zip };

/** The profile of the command in Cargo.toml: unlike in `release`, a panic ends one request of `terrace serve`, not the process. */
const PROFILE = "command";

/** Builds the command, and returns the path of the program. */
async function build(target) {
  const args = ["build", "--profile", PROFILE, "--locked", "--package", "terrace-cli", "--features", COMMAND_FEATURES, "--bin", "terrace", "--target", target.target];
  const env = { ...process.env, ...releaseFlags(target.target) };
  await step(`building the terrace command for ${target.target}`, (log) => run("cargo", args, { log, env }));
  const { stdout } = await run("cargo", ["metadata", "--no-deps", "--format-version", "1"]);
  return join(JSON.parse(stdout).target_directory, target.target, PROFILE, programFor(target));
}

/** Checks that the program runs here, and states its version, its commit and its target. */
async function checkProgram(program, version, target) {
  const { stdout } = await run(program, ["--version"]);
  const commit = (await ask("git", ["rev-parse", "HEAD"], { cwd: root }))?.slice(0, 12) ?? "";
  const expected = `terrace ${version} (${commit ? `${commit}, ` : ""}${target.target})`;
  if (stdout.trim() !== expected) throw new Error(`${program} --version prints ${JSON.stringify(stdout.trim())}, and not ${JSON.stringify(expected)}`);
}

/** Returns the files of the archive of a target, by name. */
async function filesOf(program, version, target) {
  const directory = stemOf(version, target);
  const notes = { LICENSE: "LICENSE", "README.md": "crates/terrace-cli/README.md", "CHANGELOG.md": "CHANGELOG.md" };
  const files = { [`${directory}/${programFor(target)}`]: await readFile(program) };
  for (const [name, file] of Object.entries(notes)) files[`${directory}/${name}`] = await readFile(join(root, file));
  files[`${directory}/${LICENCES_FILE}`] = await licencesOf("command", [target.target]);
  return files;
}

/** Returns the archive of these files, in which only the program is executable. */
export const packed = (files, target) => FORMATS[target.format](files, (name) => (name.endsWith(`/${programFor(target)}`) ? 0o755 : 0o644));

if (isMain(import.meta.url)) {
  await main(async () => {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { program: { type: "string" } } });
    const target = targetNamed(positionals[0]);
    const version = await currentVersion(root);
    const program = values.program ?? (await build(target));
    await checkProgram(program, version, target);
    const archive = packed(await filesOf(program, version, target), target);
    await mkdir(join(root, "dist"), { recursive: true });
    await writeFile(join(root, "dist", archiveOf(version, target)), archive);
    say(`dist/${archiveOf(version, target)}: ${(archive.length / 1e6).toFixed(1)} MB`);
  });
}
