// Zips that are too big to create in memory.
import { createHash, randomBytes } from "node:crypto";
import { openAsBlob } from "node:fs";
import { open } from "node:fs/promises";
import { crc32 } from "node:zlib";

const BLOCK_BYTES = 1024 * 1024;
const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END = 0x06054b50;
const VERSION = 20;
const MADE_ON_UNIX = 3 << 8;
const DATE_1980 = 0x21;

/**
 * Writes a zip of a small executable and `megabytes` of filler, which is random and stored without
 * compression. Returns `{ blob, digest, size }`.
 */
export async function writeBigZip(file, { executable, program, megabytes }) {
  const block = randomBytes(BLOCK_BYTES);
  const hash = createHash("sha256");
  const output = await open(file, "w");
  let size = 0;
  const write = async (bytes) => {
    hash.update(bytes);
    size += bytes.length;
    await output.write(bytes);
  };

  const entries = [
    { name: executable, mode: 0o755, blocks: [Buffer.from(program)] },
    { name: "ballast.bin", mode: 0o644, blocks: Array(megabytes).fill(block) },
  ].map((entry) => ({ ...entry, ...summary(entry.blocks) }));
  for (const entry of entries) {
    entry.offset = size;
    await write(localHeader(entry));
    for (const bytes of entry.blocks) await write(bytes);
  }
  const directory = Buffer.concat(entries.map(centralHeader));
  const offset = size;
  await write(directory);
  await write(fields([END, 4], [0, 2], [0, 2], [entries.length, 2], [entries.length, 2], [directory.length, 4], [offset, 4], [0, 2]));
  await output.close();
  return { blob: await openAsBlob(file), digest: hash.digest("hex"), size };
}

const summary = (blocks) => ({
  crc: blocks.reduce((crc, block) => crc32(block, crc), 0),
  length: blocks.reduce((length, block) => length + block.length, 0),
});

/** The fields that both headers of an entry share: stored, and dated 1980. */
const common = ({ name, crc, length }) => [[VERSION, 2], [0, 2], [0, 2], [0, 2], [DATE_1980, 2], [crc, 4], [length, 4], [length, 4], [name.length, 2], [0, 2]];

const localHeader = (entry) => Buffer.concat([fields([LOCAL_HEADER, 4], ...common(entry)), Buffer.from(entry.name)]);

const centralHeader = (entry) =>
  Buffer.concat([
    fields([CENTRAL_HEADER, 4], [VERSION | MADE_ON_UNIX, 2], ...common(entry)),
    fields([0, 2], [0, 2], [0, 2], [((0o100000 | entry.mode) << 16) >>> 0, 4], [entry.offset, 4]),
    Buffer.from(entry.name),
  ]);

/** Encodes little-endian numbers of the given sizes in bytes. */
function fields(...numbers) {
  const bytes = Buffer.alloc(numbers.reduce((sum, [, length]) => sum + length, 0));
  let at = 0;
  for (const [value, length] of numbers) at = bytes.writeUIntLE(value, at, length);
  return bytes;
}
