// The crates that are compiled into the Worker and into the `terrace` command, as cargo selects them.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

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
 * Returns the program's own crate, and all crates in it (its own are first, then the others by name), for these targets. Build
 * scripts and what only they use are left out: they run while the program is compiled. Macros are kept, because they write
 * a part of it.
 *
 * A crate is `{ id, name, version, isOwn, license, repository, description, directory, checksum, targets, uses }`; `uses` are the
 * ids of its direct dependencies.
 */
export async function dependenciesOf({ crate, targets }) {
  const found = new Map();
  for (const target of targets) {
    for (const [id, uses] of await treeOf(crate, target)) {
      const entry = found.get(id) ?? found.set(id, { id, targets: [], uses: new Set() }).get(id);
      entry.targets.push(target);
      uses.forEach((used) => entry.uses.add(used));
    }
  }
  const [described, checksums] = await Promise.all([packages(), lockedChecksums()]);
  const crates = [...found.values()].map(({ id, targets, uses }) => {
    const about = described.get(id);
    if (!about) throw new Error(`cargo metadata does not describe ${id}`);
    return { ...about, checksum: checksums.get(id) ?? null, targets, uses: [...uses].sort() };
  });
  crates.sort((a, b) => b.isOwn - a.isOwn || compare(a.id, b.id));
  return { own: crates.find(({ name }) => name === crate), crates };
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the ids that each crate uses, by id. Features are those of a build of this package alone, in a release. */
async function treeOf(crate, target) {
  const args = ["tree", "--locked", "--package", crate, ...(crate === PROGRAMS.command.crate ? ["--features", COMMAND_FEATURES] : []), "--edges", "normal", "--target", target, "--prefix", "depth", "--format", " {p}"];
  return parseTree((await run("cargo", args)).stdout);
}

/** Parses lines such as `2 serde v1.0.0 (proc-macro) (*)`. The children of a crate follow its first line. */
export function parseTree(text) {
  const uses = new Map();
  const above = [];
  for (const line of text.split("\n").filter(Boolean)) {
    const parts = line.match(/^(\d+) (\S+) v(\S+)/);
    if (!parts) throw new Error(`cargo tree printed a line of another form: ${line}`);
    const [depth, id] = [Number(parts[1]), idOf(parts[2], parts[3])];
    if (!uses.has(id)) uses.set(id, new Set());
    if (depth > 0) uses.get(above[depth - 1]).add(id);
    above[depth] = id;
  }
  return uses;
}

const idOf = (name, version) => `${name}@${version}`;

/** Returns every package of the lock file, with the directory of its source. */
async function packages() {
  const { stdout } = await run("cargo", ["metadata", "--locked", "--all-features", "--format-version", "1"]);
  const described = JSON.parse(stdout).packages.map((found) => {
    const { name, version, license, repository, description, source, manifest_path, authors } = found;
    const directory = manifest_path.replace(/[\\/]Cargo\.toml$/, "");
    return [idOf(name, version), { id: idOf(name, version), name, version, isOwn: source === null, license, repository, description, authors, directory }];
  });
  return new Map(described);
}

async function lockedChecksums() {
  const lock = await readFile(join(root, "Cargo.lock"), "utf8");
  const entries = lock.matchAll(/^name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "([0-9a-f]{64})"/gm);
  return new Map([...entries].map(([, name, version, checksum]) => [idOf(name, version), checksum]));
}
