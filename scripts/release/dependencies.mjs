// The crates that are compiled into the Worker and into the `terrace` command, as cargo selects them.
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { root } from "../lib/paths.mjs";
import { run } from "../lib/run.mjs";
import { TARGETS } from "./targets.mjs";

/** The features of the released command. */
export const COMMAND_FEATURES = "object-store";

/** The released programs: their packages, and the targets that they are compiled for. */
export const PROGRAMS = {
  worker: { crate: "terrace", title: "the Terrace Worker", targets: ["wasm32-unknown-unknown"] },
  command: { crate: "terrace-cli", title: "the terrace command", targets: TARGETS.map(({ target }) => target) },
};

/**
 * Returns the program's own crate, and the others in it for these targets, by name. Build scripts and what only they use are left
 * out: they run while the program is compiled. Macros are kept, because they write a part of it. A crate has the members of `cargo
 * metadata`, and `id`, `directory` and `checksum`.
 */
export async function dependenciesOf({ crate, targets }) {
  const features = crate === PROGRAMS.command.crate ? ["--features", COMMAND_FEATURES] : [];
  const options = [...features, ...targets.flatMap((target) => ["--target", target])];
  const { stdout: tree } = await run("cargo", ["tree", "--locked", "--package", crate, "--edges", "normal", "--prefix", "none", "--no-dedupe", "--format", "{p}", ...options]);
  const { stdout: metadata } = await run("cargo", ["metadata", "--locked", "--all-features", "--format-version", "1"]);
  const lock = await readFile(join(root, "Cargo.lock"), "utf8");
  const described = new Map(JSON.parse(metadata).packages.map((found) => [idOf(found), found]));
  const ids = new Set(Array.from(tree.matchAll(/^(\S+) v(\S+)/gm), ([, name, version]) => idOf({ name, version })));
  const crates = [...ids].sort().map((id) => {
    const found = described.get(id);
    const [, checksum] = new RegExp(`^name = "${found.name}"\nversion = "${found.version.replaceAll(/[.+]/g, "\\$&")}"\n.*\nchecksum = "(.+)"`, "m").exec(lock) ?? [];
    // Old manifests separate alternatives by `/`.
    return { ...found, id, checksum, license: found.license?.replace(/ *\/ */g, " OR "), directory: dirname(found.manifest_path) };
  });
  return { own: crates.find(({ name }) => name === crate), crates: crates.filter(({ name }) => name !== crate) };
}

const idOf = ({ name, version }) => `${name}@${version}`;
