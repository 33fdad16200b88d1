// Archives, created in memory.
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

import { zipSync } from "fflate";

const MADE_ON_UNIX = 3;
const EPOCH = new Date(1980, 0, 1);
const TAR_BLOCK = 512;

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** Returns a zip of `files`, by name, with this mode, or that which it returns for a name. */
export function zip(files, mode = 0o644) {
  const options = (name) => ({ mtime: EPOCH, os: MADE_ON_UNIX, attrs: (0o100000 | modeOf(mode, name)) << 16 });
  const entries = Object.entries(files).map(([name, content]) => [name, [Buffer.from(content), options(name)]]);
  return Buffer.from(zipSync(Object.fromEntries(entries)));
}

/** Returns a gzipped tar of `files`, by name, with modes as in `zip`. */
export function tarGz(files, mode = 0o644) {
  const entries = Object.entries(files).flatMap(([name, content]) => tarEntry(name, Buffer.from(content), modeOf(mode, name)));
  return gzipSync(Buffer.concat([...entries, Buffer.alloc(2 * TAR_BLOCK)]));
}

const modeOf = (mode, name) => (typeof mode === "function" ? mode(name) : mode);

function tarEntry(name, content, mode) {
  const header = Buffer.alloc(TAR_BLOCK);
  const octal = (value, at, length) => header.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at);
  header.write(name, 0, 100);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(content.length, 124, 12);
  octal(0, 136, 12);
  header.write("        0", 148);
  header.write("ustar\x0000", 257);
  octal(header.reduce((sum, byte) => sum + byte, 0), 148, 7);
  const padding = Buffer.alloc(-content.length & (TAR_BLOCK - 1));
  return [header, content, padding];
}
