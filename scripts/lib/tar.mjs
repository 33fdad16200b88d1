// Writes tar files (POSIX ustar): the same files become the same bytes, on every machine.

const BLOCK = 512;

/** Names up to this length need no prefix. */
const LONGEST_NAME = 100;

/**
 * Returns a tar of `files`, contents by name, in their order; `time` is their time of change in seconds, and `mode` their mode, or
 * a function that returns it for a name.
 */
export function tar(files, { time = 0, mode = 0o644 } = {}) {
  const modeOf = typeof mode === "function" ? mode : () => mode;
  const entries = Object.entries(files).flatMap(([name, content]) => entry(name, content, { time, mode: modeOf(name) }));
  return Buffer.concat([...entries, Buffer.alloc(2 * BLOCK)]);
}

function entry(name, content, { time, mode }) {
  if (Buffer.byteLength(name) > LONGEST_NAME) throw new Error(`${name} is longer than ${LONGEST_NAME} bytes`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value, at, length) => header.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at);
  header.write(name, 0, LONGEST_NAME);
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(content.length, 124, 12);
  octal(time, 136, 12);
  header.write("        0", 148);
  header.write("ustar\x0000", 257);
  octal(header.reduce((sum, byte) => sum + byte, 0), 148, 7);
  return [header, content, Buffer.alloc(-content.length & (BLOCK - 1))];
}
