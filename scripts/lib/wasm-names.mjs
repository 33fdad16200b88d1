// Takes the names of functions out of a wasm module. They are a large part of its size, and nothing reads them at run time.
import { CUSTOM, HEADER_BYTES, sections } from "./wasm.mjs";

/** `module` without its custom sections that only serve debuggers. */
export function withoutNames(module) {
  const kept = [...sections(module)].filter(({ id, name }) => id !== CUSTOM || !isForDebuggers(name));
  return Buffer.concat([module.subarray(0, HEADER_BYTES), ...kept.map(({ start, end }) => module.subarray(start, end))]);
}

const isForDebuggers = (name) => name === "name" || name.startsWith(".debug_");
