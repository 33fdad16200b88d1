// The Worker, which also reports the size of its wasm memory at /.memory.
import "./memory.mjs";
import terrace from "./index.js";

export { Archives } from "./index.js";

export default {
  fetch(request, env, context) {
    if (request.url.endsWith("/.memory")) return Response.json(globalThis.wasmMemory.buffer.byteLength);
    return terrace.fetch(request, env, context);
  },
};
