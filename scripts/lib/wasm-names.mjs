// Removes the names of functions from a wasm module. They are a large part of its size, and nothing reads
// them at run time.
import { CUSTOM, HEADER_BYTES, sections } from "./wasm.mjs";

/** Returns `module` without the custom sections that only debuggers use. */
export function withoutNames(module) {
  const kept = [...sections(module)].filter(({ id, name }) => id !== CUSTOM || !isForDebuggers(name));
  return Buffer.concat([module.subarray(0, HEADER_BYTES), ...kept.map(({ start, end }) => module.subarray(start, end))]);
}

const isForDebuggers = (name) => name === "name" || name.startsWith(".debug_");
