// The Worker, and besides how much memory its wasm holds, at /.memory; and its scheduled event, at /.scheduled.
import "./memory.mjs";
import Terrace from "./index.js";

export default {
  async fetch(request, env, context) {
    if (request.url.endsWith("/.memory")) return Response.json(globalThis.wasmMemory.buffer.byteLength);
    const worker = new Terrace(context, env);
    if (!request.url.endsWith("/.scheduled")) return worker.fetch(request);
    await worker.scheduled({ cron: "", scheduledTime: Date.now() });
    return new Response();
  },
};
