// The composition of the wasm: its sections, and its code by the crate that defines it.
//
// A function counts for the crate that its name begins with: a generic function for the crate that defines it, not for
// the callers, and inlined code for the function that it was inlined into. An implementation of a trait counts for the
// crate of the type, or for that of the trait if the type belongs to no crate.
import { readFile } from "node:fs/promises";

import { CODE, CUSTOM, DATA, IMPORTS, sections, text, unsigned } from "../lib/wasm.mjs";

/** The crates whose code is reported by module. */
const OWN = ["terrace", "terrace_app", "terrace_core"];

/** The subsection of the name section with the names of functions. */
const FUNCTION_NAMES = 1;
/** The kinds of imports. */
const FUNCTION = 0;
const TAG = 4;

/**
 * Returns `{ sections, code }`: the bytes of the uploaded wasm, in total and by section, and of its code `{
 * name, bytes, functions }`, the largest first.
 */
export async function sizes(file) {
  const module = await readFile(file);
  const found = [...sections(module)];
  const size = ({ start, end }) => end - start;
  const sum = (some) => some.reduce((total, section) => total + size(section), 0);
  const uploaded = found.filter(({ id }) => id !== CUSTOM);
  const of = (wanted) => found.filter(({ id }) => id === wanted);
  const named = { code: sum(of(CODE)), data: sum(of(DATA)) };
  return { sections: { ...named, other: sum(uploaded) - named.code - named.data, total: sum(uploaded) }, code: byOrigin(module, found) };
}

function byOrigin(module, found) {
  const [{ body }] = found.filter(({ id }) => id === CODE);
  const names = functionNames(module, found.find(({ name }) => name === "name"));
  const first = importedFunctions(module, found.find(({ id }) => id === IMPORTS));
  const origins = new Map();
  let [functions, at] = unsigned(module, body);
  for (let index = first; index < first + functions; index += 1) {
    const start = at;
    const [length, code] = unsigned(module, at);
    at = code + length;
    const name = origin(names.get(index) ?? "");
    const known = origins.get(name) ?? { name, bytes: 0, functions: 0 };
    origins.set(name, { name, bytes: known.bytes + at - start, functions: known.functions + 1 });
  }
  return [...origins.values()].sort((a, b) => b.bytes - a.bytes);
}

/** Returns the functions with their names; indices include imported functions. */
function functionNames(module, { body, end }) {
  const names = new Map();
  for (let at = body; at < end; ) {
    const kind = module[at];
    let [length, next] = unsigned(module, at + 1);
    at = next + length;
    if (kind !== FUNCTION_NAMES) continue;
    let many;
    [many, next] = unsigned(module, next);
    while (many-- > 0) {
      const [index, after] = unsigned(module, next);
      const [name, behind] = text(module, after);
      names.set(index, name);
      next = behind;
    }
  }
  return names;
}

/** Returns the number of imported functions. wasm-bindgen's only other imports are the tags of exceptions. */
function importedFunctions(module, { body }) {
  let [many, at] = unsigned(module, body);
  let functions = 0;
  while (many-- > 0) {
    at = text(module, text(module, at)[1])[1];
    const kind = module[at++];
    if (kind === FUNCTION) functions += 1;
    else if (kind === TAG) at += 1;
    else throw new Error("the wasm has an unexpected kind of import");
    at = unsigned(module, at)[1];
  }
  return functions;
}

/**
 * Returns `terrace_app::context` for `<terrace_app::context::Context<P> as …>::…`; rustc writes some crates
 * as `core[12f89f2d8a73214f]`.
 */
export function origin(name) {
  const path = name.replaceAll(/\[[0-9a-f]{16}\]/g, "").match(PATH)?.[0];
  if (!path) return "exports and glue";
  const [crate, module] = path.split("::");
  return OWN.includes(crate) && /^[a-z]/.test(module) ? `${crate}::${module}` : crate;
}

/** Matches the first path in a name, with at least two parts. */
const PATH = /[a-z_][a-z0-9_]*::(?:<impl |\w+)/;
