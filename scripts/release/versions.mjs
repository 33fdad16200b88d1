// The version of Terrace in every file that states it. Cargo.toml is authoritative.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { ask, run } from "../lib/run.mjs";

/** A semantic version without build metadata: registries of npm and containers have no place for it. */
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;

/** Returns `text` if it is a version, and rejects anything else. */
export function parseVersion(text) {
  if (!VERSION.test(text ?? "")) throw new Error(`${JSON.stringify(text ?? "")} is not a version: write it as 1.2.3, or as 1.2.3-rc.1`);
  return text;
}

/** Returns whether clients are not offered this version unless they ask for it. */
export const isPrerelease = (version) => version.includes("-");

/** Returns a negative number if version `a` is older than `b`. Prereleases of one version are equal. */
export function compareVersions(a, b) {
  const [left, right] = [a, b].map((version) => version.split("-")[0].split(".").map(Number));
  const part = left.findIndex((number, at) => number !== right[at]);
  return part >= 0 ? left[part] - right[part] : isPrerelease(b) - isPrerelease(a);
}

/** Returns the minor version of `version`, such as `1.2`. */
export const minorOf = (version) => version.split(".").slice(0, 2).join(".");

/**
 * Returns the names that a version takes over from others, given all versions with a tag: whether users get it who name no
 * version (`latest`), or only its minor version (`minor`). No prerelease has either, and a patch of an older version moves none back.
 */
export function channelsOf(version, tagged) {
  if (isPrerelease(version)) return { latest: false, minor: false };
  const newer = tagged.filter((other) => !isPrerelease(other) && compareVersions(other, version) > 0);
  return { latest: newer.length === 0, minor: !newer.some((other) => minorOf(other) === minorOf(version)) };
}

/** Reads the versions that have a tag in the repository in `directory`. Rejects for a shallow clone, which lacks tags. */
export async function taggedVersions(directory) {
  if ((await ask("git", ["rev-parse", "--is-shallow-repository"], { cwd: directory })) !== "false") {
    throw new Error(`${directory} is not a complete clone, so the tags of other releases are unknown: run \`git fetch --unshallow --tags\``);
  }
  const { stdout } = await run("git", ["tag", "--list", "v*"], { cwd: directory });
  return stdout.split("\n").map((tag) => tag.replace(/^v/, "")).filter((version) => VERSION.test(version));
}

/** The name of the Worker's package at npm, on which others depend. */
export const WORKER = "terrace-registry";

const MANIFEST = /(?<=^\[workspace\.package\]\n(?:[^[\n].*\n)*?version = ")[^"]+/m;

/** This project's own crates in a lock file have no source. The workspace of the fuzz targets has a version of its own. */
const CRATES = /(?<=\[\[package\]\]\nname = "terrace(?:-[a-z-]+)?"\nversion = ")(?!0\.0\.0")[^"]+(?="\n(?!source))/g;

/** In files of npm, which are indented by two spaces. */
const MEMBER = /(?<=^ {2}"version": ")[^"]+/m;
const FIRST_PACKAGE = /(?<=^ {4}"": \{\n(?: {6}.*\n)*? {6}"version": ")[^"]+/m;
const DEPENDENCY = new RegExp(`(?<=^ {4,8}"${WORKER}": ")[^"]+`, "m");
const INSTALLED = new RegExp(`(?<=^ {4}"node_modules/${WORKER}": \\{\\n {6}"version": ")[^"]+`, "m");

/** The places of the version in each file. */
const PLACES = {
  "Cargo.toml": [MANIFEST],
  "Cargo.lock": [CRATES],
  "fuzz/Cargo.lock": [CRATES],
  "package.json": [MEMBER],
  "package-lock.json": [MEMBER, FIRST_PACKAGE],
  "docs/openapi.yaml": [/(?<=^info:\n(?: {2}.*\n)*? {2}version: )\S+/m],
  "terrace-action/install.sh": [/(?<=^own=)\S+/m],
  "packages/worker/package.json": [MEMBER],
  "packages/try/package.json": [MEMBER, DEPENDENCY],
  "deploy/package.json": [MEMBER, DEPENDENCY],
  "deploy/package-lock.json": [MEMBER, FIRST_PACKAGE, DEPENDENCY, INSTALLED],
};

/** Texts for people that name the release to use: as `v1.2.3`, in the name of an archive or image, or in an assignment. */
const DOCUMENTS = ["docs/access.md", "terrace-action/README.md", "crates/terrace-cli/README.md"];

/** The package in the lock file of the deployment. Its checksum is known once it is packed; without it, npm asks its registry. */
const LOCKED = new RegExp(`(/${WORKER}-)[^"/]+(\\.tgz",\\n)(?: {6}"integrity": "[^"]+",\\n)?`);

/** Reads the version of the checkout in `directory`. */
export async function currentVersion(directory) {
  return MANIFEST.exec(await readFile(join(directory, "Cargo.toml"), "utf8"))[0];
}

/** Writes the version into every file that is there, or with `dry` into none. Returns the names of the files that have another one. */
export async function writeVersions(directory, version, { dry = false } = {}) {
  const before = await currentVersion(directory);
  const named = new RegExp(`(?<=\\bv|terrace[-: ]|version=|version )${before.replaceAll(".", "\\.")}\\b`, "g");
  const changed = [];
  for (const [file, places] of Object.entries({ ...PLACES, ...Object.fromEntries(DOCUMENTS.map((name) => [name, [named]])) })) {
    const text = await readFile(join(directory, file), "utf8").catch(() => null);
    if (text === null) continue;
    let after = text;
    for (const place of places) {
      if (after.search(place) < 0 && place !== named) throw new Error(`${file} states no version where one is expected`);
      after = after.replace(place, version);
    }
    if (after !== text && file === "deploy/package-lock.json") after = after.replace(LOCKED, `$1${version}$2`);
    if (after === text) continue;
    changed.push(file);
    if (!dry) await writeFile(join(directory, file), after);
  }
  return changed;
}
