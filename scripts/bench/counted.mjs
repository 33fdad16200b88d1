// The Worker with counters for the calls and bytes that cross into its wasm, reported at /.crossings. It is
// never the Worker whose time is measured.
import { crossings } from "./crossings.mjs";
import terrace from "./index.js";

export default {
  fetch(request, env, context) {
    if (request.url.endsWith("/.crossings")) return Response.json(crossings());
    return terrace.fetch(request, env, context);
  },
};
