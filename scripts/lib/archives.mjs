// Archives, created in memory.
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

import { zipSync } from "fflate";

import { modeOf, tar } from "./tar.mjs";

const MADE_ON_UNIX = 3;
const EPOCH = new Date(1980, 0, 1);

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Returns a zip of `files`, by name, with this mode, or that which it returns for a name. */
export function zip(files, mode = 0o644) {
  const options = (name) => ({ mtime: EPOCH, os: MADE_ON_UNIX, attrs: (0o100000 | modeOf(mode, name)) << 16 });
  const entries = Object.entries(files).map(([name, content]) => [name, [Buffer.from(content), options(name)]]);
  return Buffer.from(zipSync(Object.fromEntries(entries)));
}

/** Returns a gzipped tar of `files`, by name, with modes as in `zip`. */
export function tarGz(files, mode = 0o644) {
  const contents = Object.entries(files).map(([name, content]) => [name, Buffer.from(content)]);
  return gzipSync(tar(Object.fromEntries(contents), { mode }));
}
