// Takes the names of functions out of a wasm module. They are a large part of its size, and nothing reads them at run time.

const CUSTOM_SECTION = 0;
const HEADER_BYTES = 8;

/** `module` without its custom sections that only serve debuggers. */
export function withoutNames(module) {
  const kept = [module.subarray(0, HEADER_BYTES)];
  let at = HEADER_BYTES;
  while (at < module.length) {
    const [size, body] = unsigned(module, at + 1);
    const end = body + size;
    if (module[at] !== CUSTOM_SECTION || !isForDebuggers(customName(module, body))) kept.push(module.subarray(at, end));
    at = end;
  }
  return Buffer.concat(kept);
}

const isForDebuggers = (name) => name === "name" || name.startsWith(".debug_");

function customName(module, at) {
  const [length, start] = unsigned(module, at);
  return module.toString("utf8", start, start + length);
}

/** An unsigned LEB128 number and the position after it. */
function unsigned(module, at) {
  let value = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = module[at++];
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return [value, at];
  }
  throw new Error("not a wasm module: a number is too long");
}
