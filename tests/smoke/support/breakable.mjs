// The Worker with a switch that breaks its wasm instance: runs in workerd, where `worker` stands for the built Worker.
import { breaks } from "./broken-instance.mjs";
import worker from "worker";

export default {
  ...worker,
  fetch(request, env, context) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== "/.break") return worker.fetch(request, env, context);
    return Response.json(breaks(searchParams.get("in")));
  },
};
