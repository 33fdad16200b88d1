// Short digests of contents: equal fingerprints mean that nothing changed.

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Returns the SHA-256 of some texts, in hex. */
export function fingerprintOfText(...texts) {
  return createHash("sha256").update(JSON.stringify(texts)).digest("hex");
}

/** Returns one fingerprint for the names and contents of all files below a directory, except hidden ones. */
export async function fingerprintOfDirectory(directory) {
  const texts = [];
  for (const path of await visibleFiles(directory)) texts.push(path, await readFile(join(directory, path), "utf8"));
  return fingerprintOfText(...texts);
}

/** Returns the paths of all files below a directory, except hidden ones. */
export async function visibleFiles(directory, below = "") {
  const paths = [];
  for (const entry of await readdir(join(directory, below), { withFileTypes: true })) {
    if (entry.name.startsWith(".")) continue;
    const path = below ? `${below}/${entry.name}` : entry.name;
    paths.push(...(entry.isDirectory() ? await visibleFiles(directory, path) : [path]));
  }
  return paths.sort();
}
