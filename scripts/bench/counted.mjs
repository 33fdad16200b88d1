// The Worker with what crosses into its wasm counted, and told at /.crossings. Never the one that is measured.
import { crossings } from "./crossings.mjs";
import terrace from "./index.js";

export default {
  fetch(request, env, context) {
    if (request.url.endsWith("/.crossings")) return Response.json(crossings());
    return terrace.fetch(request, env, context);
  },
};
