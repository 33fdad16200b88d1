// Evaluated before index.js: keeps a reference to the memory of the wasm instance.
WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
  construct(...args) {
    const instance = Reflect.construct(...args);
    globalThis.wasmMemory = instance.exports.memory;
    return instance;
  },
});
