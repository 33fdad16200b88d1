// The version of Terrace in every file that states it. Cargo.toml is authoritative.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** A semantic version without build metadata: registries of npm and containers have no place for it. */
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;

/** Returns `text` if it is a version, and rejects anything else. */
export function parseVersion(text) {
  if (!VERSION.test(text ?? "")) throw new Error(`${JSON.stringify(text ?? "")} is not a version: write it as 1.2.3, or as 1.2.3-rc.1`);
  return text;
}

/** Returns whether clients are not offered this version unless they ask for it. */
export const isPrerelease = (version) => version.includes("-");

/** Returns a negative number if version `a` is older than `b`, 0 if they are equal, and else a positive one. */
export function compareVersions(a, b) {
  const [left, right] = [a, b].map((version) => version.match(VERSION));
  for (const part of [1, 2, 3]) {
    if (left[part] !== right[part]) return left[part] - right[part];
  }
  if (!left[4] || !right[4]) return Boolean(right[4]) - Boolean(left[4]);
  return comparePrereleases(left[4].split("."), right[4].split("."));
}

function comparePrereleases(left, right) {
  for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
    if (left[i] === right[i]) continue;
    const numbers = [left[i], right[i]].map((part) => (/^\d+$/.test(part) ? Number(part) : null));
    if (numbers[0] !== null && numbers[1] !== null) return numbers[0] - numbers[1];
    // Numbers precede words.
    if (numbers[0] !== null || numbers[1] !== null) return numbers[0] !== null ? -1 : 1;
    return left[i] < right[i] ? -1 : 1;
  }
  return left.length - right.length;
}

/** Reads the version of the checkout in `directory`. */
export async function currentVersion(directory) {
  return one(await readFile(join(directory, "Cargo.toml"), "utf8"), CARGO_TOML, "Cargo.toml");
}

const CARGO_TOML = /^(\[workspace\.package\]\n(?:[^[\n].*\n)*?version = ")([^"]+)(")/m;
const OPENAPI = /^(info:\n(?: {2}.*\n)*? {2}version: )(\S+)()$/m;
const ACTION = /^(own=)(\S+)()$/m;

/** The name of the Worker's package at npm, on which others depend. */
export const WORKER = "terrace-registry";

/** In files of npm, which are indented by two spaces, whose first package in a lock file is the checkout itself. */
const VERSION_MEMBER = /^( {2}"version": ")([^"]+)(")/m;
const LOCKED_MEMBER = /^( {2}"packages": \{\n {4}"": \{\n(?: {6}.*\n)*? {6}"version": ")([^"]+)(")/m;
const DEPENDENCY = new RegExp(`^( {4,8}"${WORKER}": ")([^"]+)(")`, "m");
const INSTALLED = new RegExp(`^( {4}"node_modules/${WORKER}": \\{\\n {6}"version": ")([^"]+)(")`, "m");

/**
 * The files: `read` returns the versions that a text states, and `write` replaces them. Those that are optional belong to
 * parts that a checkout may lack.
 */
const PLACES = [
  { file: "Cargo.toml", ...matching(CARGO_TOML) },
  { file: "Cargo.lock", ...lock() },
  { file: "fuzz/Cargo.lock", ...lock() },
  { file: "package.json", ...matching(VERSION_MEMBER) },
  { file: "package-lock.json", ...matching(VERSION_MEMBER, LOCKED_MEMBER) },
  { file: "docs/openapi.yaml", ...matching(OPENAPI) },
  { file: "terrace-action/install.sh", ...matching(ACTION) },
  { file: "packages/worker/package.json", optional: true, ...matching(VERSION_MEMBER) },
  { file: "packages/try/package.json", optional: true, ...matching(VERSION_MEMBER, DEPENDENCY) },
  { file: "deploy/package.json", optional: true, ...matching(VERSION_MEMBER, DEPENDENCY) },
  { file: "deploy/package-lock.json", optional: true, ...deployLock() },
];

/** Texts for people that name the release to use: as `v1.2.3`, in the name of an archive or image, or in an assignment. */
const DOCUMENTS = ["docs/ci.md", "terrace-action/README.md", "crates/terrace-cli/README.md"];

/** Returns `{ file, version }` for every version that a file states. */
export async function statedVersions(directory) {
  const found = [];
  for (const { file, optional, read } of PLACES) {
    const text = await readFile(join(directory, file), "utf8").catch(() => null);
    if (text === null && optional) continue;
    if (text === null) throw new Error(`${file} is missing`);
    for (const version of read(text, file)) found.push({ file, version });
  }
  return found;
}

/** Replaces the version in every file. Returns the names of the files that changed. */
export async function writeVersions(directory, version) {
  const before = await currentVersion(directory);
  const changed = [];
  const rewrite = async (file, change) => {
    const text = await readFile(join(directory, file), "utf8").catch(() => null);
    const after = text === null ? null : change(text);
    if (after === text) return;
    await writeFile(join(directory, file), after);
    changed.push(file);
  };
  for (const { file, write } of PLACES) await rewrite(file, (text) => write(text, version));
  const named = new RegExp(`(\\bv|terrace[-: ]|version=|version )${before.replaceAll(".", "\\.")}\\b`, "g");
  for (const file of DOCUMENTS) await rewrite(file, (text) => text.replace(named, `$1${version}`));
  return changed;
}

/** The versions that patterns find, between their first and third groups. */
function matching(...patterns) {
  return {
    read: (text, file) => patterns.map((pattern) => one(text, pattern, file)),
    write: (text, version) => patterns.reduce((result, pattern) => result.replace(pattern, (_, start, _old, end) => `${start}${version}${end}`), text),
  };
}

function one(text, pattern, file) {
  const found = text.match(pattern)?.[2];
  if (!found) throw new Error(`${file} states no version where one is expected`);
  return found;
}

/** The versions of this project's own crates in a lock file. They have no source and no checksum. */
function lock() {
  const own = /(\[\[package\]\]\nname = "terrace(?:-[a-z-]+)?"\nversion = ")([^"]+)("\n(?!source))/g;
  /** The workspace of the fuzz targets has a version of its own. */
  const unversioned = "0.0.0";
  return {
    read: (text) => [...text.matchAll(own)].map(([, , version]) => version).filter((version) => version !== unversioned),
    write: (text, version) => text.replace(own, (whole, start, old, end) => (old === unversioned ? whole : `${start}${version}${end}`)),
  };
}

/**
 * The lock file of the deployment. The checksum of a package is known once it is packed: without it, npm installs the version from
 * its registry.
 */
function deployLock() {
  const { read, write } = matching(VERSION_MEMBER, LOCKED_MEMBER, DEPENDENCY, INSTALLED);
  const archive = new RegExp(`(/${WORKER}-)[^"/]+(\\.tgz",\\n)(?: {6}"integrity": "[^"]+",\\n)?`);
  return { read, write: (text, version) => write(text, version).replace(archive, `$1${version}$2`) };
}
