// The structure of a wasm module (https://webassembly.github.io/spec/core/binary/modules.html).

export const CUSTOM = 0;

export const HEADER_BYTES = 8;

/**
 * Yields each section of `module`: `{ id, start, body, end, name }`. The contents are between `body` and
 * `end`, and custom sections have a name.
 */
export function* sections(module) {
  for (let start = HEADER_BYTES; start < module.length; ) {
    const [size, at] = unsigned(module, start + 1);
    const id = module[start];
    const end = at + size;
    const [name, body] = id === CUSTOM ? text(module, at) : [null, at];
    yield { id, start, body, end, name };
    start = end;
  }
}

/** Reads a text, and returns it with the position after it. */
function text(module, at) {
  const [length, start] = unsigned(module, at);
  const end = start + length;
  return [module.toString("utf8", start, end), end];
}

/** Reads an unsigned LEB128 number, and returns it with the position after it. */
function unsigned(module, at) {
  let value = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = module[at++];
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return [value, at];
  }
  throw new Error("not a wasm module: a number is too long");
}
