// Archives, created in memory.
import { gzipSync } from "node:zlib";

import { zipSync } from "fflate";

import { tar } from "./tar.mjs";

const MADE_ON_UNIX = 3;
const EPOCH = new Date(1980, 0, 1);

/** Returns a zip of `files`, by name, with this mode, or that which it returns for a name. */
export function zip(files, mode = 0o644) {
  const modeOf = typeof mode === "function" ? mode : () => mode;
  const options = (name) => ({ mtime: EPOCH, os: MADE_ON_UNIX, attrs: (0o100000 | modeOf(name)) << 16 });
  return Buffer.from(zipSync(mapValues(files, (content, name) => [Buffer.from(content), options(name)])));
}

/** Returns a gzipped tar of `files`, by name, with modes as in `zip`. */
export const tarGz = (files, mode) => gzipSync(tar(mapValues(files, (content) => Buffer.from(content)), { mode }));

const mapValues = (object, change) => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
