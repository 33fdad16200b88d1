// Evaluated before index.js: counts the calls between JavaScript and wasm, and the bytes copied into wasm.
const zero = () => ({ calls: 0, bytes: 0 });
let counted = zero();

/** Returns the counts since the last call. */
export function crossings() {
  const seen = counted;
  counted = zero();
  return seen;
}

const counting = (functions, bytesOf) =>
  Object.fromEntries(
    Object.entries(functions).map(([name, value]) => {
      if (typeof value !== "function") return [name, value];
      return [
        name,
        (...args) => {
          counted.calls += 1;
          counted.bytes += bytesOf(name, args);
          return value(...args);
        },
      ];
    }),
  );

/** Counts the bytes that the glue copies: it allocates memory in wasm before it copies a text there. */
const copiedByGlue = (name, [length, second, third]) => {
  if (name === "__wbindgen_malloc") return length;
  return name === "__wbindgen_realloc" ? Math.max(0, third - second) : 0;
};

/** Counts the bytes that wasm has copied to an address that it chooses. */
const copiedForWasm = (name, [, length]) => (name.startsWith("__wbg_prototypesetcall") ? length : 0);

WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
  construct(target, [module, imports]) {
    const counted = Object.entries(imports).map(([name, functions]) => [name, counting(functions, copiedForWasm)]);
    const { exports } = Reflect.construct(target, [module, Object.fromEntries(counted)]);
    return { exports: counting(exports, copiedByGlue) };
  },
});
