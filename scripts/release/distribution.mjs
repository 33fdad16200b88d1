// dist/: the files of a release.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { sha256 } from "../lib/sha256.mjs";

export const CHECKSUMS = "SHA256SUMS";
/** The notes are the text of the release, not a file of it. */
export const NOTES = "NOTES.md";

/** Returns the names of the files of a release in `directory`: all but checksums, notes, and the digests of other builds. */
export async function artefacts(directory) {
  const names = await readdir(directory);
  return names.filter((name) => ![CHECKSUMS, NOTES].includes(name) && !name.endsWith(".digests")).sort();
}

/** Returns the text of SHA256SUMS for these files. */
export async function checksumsOf(directory, names) {
  const lines = await Promise.all(names.map(async (name) => `${sha256(await readFile(join(directory, name)))}  ${name}\n`));
  return lines.join("");
}
