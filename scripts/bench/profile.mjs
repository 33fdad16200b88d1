// Shows where the CPU time of a case goes, according to V8: JavaScript and wasm by function, and all native
// code of workerd as "(program)".
import { Inspector } from "../../tests/clients/support/inspector.mjs";
import { prepare } from "./measure.mjs";
import { load } from "./load.mjs";

const CONNECTIONS = 16;
const MS = 3_000;
const SHOWN = 40;

/** Returns the most expensive functions of the Worker and of the floor, each with its own time per request. */
export async function profile(asked, servers) {
  const [{ deployment, request, status }] = await prepare([asked], servers);
  const parts = [];
  for (const [title, server] of [["the Worker", servers.ours], ["the floor", servers.floor]]) {
    const connections = await server.connections(deployment, CONNECTIONS);
    await load(connections, request, { ms: MS, status });
    const inspector = await Inspector.connect(server.inspector, deployment);
    let requests;
    const taken = await inspector.profileDuring(async () => ({ requests } = await load(connections, request, { ms: MS, status })));
    inspector.close();
    parts.push(`${asked.name}, ${title}, µs for each of ${requests} requests:\n${lines(taken, requests)}`);
  }
  return parts.join("\n\n");
}

function lines({ nodes, samples, timeDeltas }, requests) {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const times = new Map();
  samples.forEach((id, at) => times.set(names.get(id), (times.get(names.get(id)) ?? 0) + timeDeltas[at]));
  times.delete("(idle)");
  const most = [...times].sort(([, a], [, b]) => b - a).slice(0, SHOWN);
  return most.map(([name, time]) => `${(time / requests).toFixed(1).padStart(8)}  ${name}`).join("\n");
}

const nameOf = ({ functionName, url, lineNumber, columnNumber }) =>
  url.startsWith("wasm:") || functionName.startsWith("(") ? functionName : `${functionName || "anonymous"} (${url}:${lineNumber + 1}:${columnNumber + 1})`;
