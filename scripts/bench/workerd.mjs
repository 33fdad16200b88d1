// workerd without wrangler's proxy in front: one process that runs one Worker, over KV and R2 in memory.
import { execFileSync, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { copyFile, mkdir, readFile, truncate, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { nodeForWrangler } from "../lib/npm.mjs";
import { npmFile, root, stateDir } from "../lib/paths.mjs";
import { serve } from "../lib/run.mjs";
import { until } from "../lib/wait.mjs";
import { compatibilityDate, freePort } from "../server.mjs";
import { VARIABLES } from "./cases.mjs";

const HOST = "127.0.0.1";

/** The limit of a request, in milliseconds. */
const REQUEST_MS = 30_000;

const KINDS = { ".js": "esModule", ".wasm": "wasm" };
const directory = join(stateDir, "bench");
const here = (name) => join(root, "scripts", "bench", name);

/** The modules of each side; the first one is the entry point. */
export const SIDES = {
  Terrace: Object.fromEntries(["index.js", "wasm.js", "index_bg.wasm"].map((name) => [name, join(root, "build", name)])),
  floor: { "floor.js": here("floor.js") },
  empty: { "empty.js": here("empty.js") },
};

/** The path of the binary itself: the package's own script would add a process. */
const { default: workerd } = createRequire(npmFile("wrangler", "package.json"))("workerd");

/** Starts KV and R2, with the indices of this file in KV. */
export async function startStore(file) {
  await mkdir(directory, { recursive: true });
  const port = await freePort();
  const { stop } = await serve(nodeForWrangler(), [here("store.mjs"), String(port), file], { log: join(directory, "store.log") });
  if (!(await until(() => fetch(`http://${HOST}:${port}/?`)))) throw new Error("the store of the benchmark did not start");
  return { port, stop };
}

/**
 * Writes the modules of a side and their configuration, which is compiled together with the modules: the runtime reads that
 * directly, and two megabytes as text by 8 ms of CPU. Returns its place.
 */
export async function configure(side, storePort) {
  const place = join(directory, side);
  await mkdir(place, { recursive: true });
  for (const [file, from] of Object.entries(SIDES[side])) await copyFile(from, join(place, file));
  const text = join(place, "config.capnp");
  await writeFile(text, await capnp(Object.keys(SIDES[side]), storePort), { mode: 0o600 });
  const file = openSync(`${text}.bin`, "w", 0o600);
  execFileSync(workerd, ["compile", "--config-only", text], { cwd: place, stdio: ["ignore", file, "inherit"] });
  closeSync(file);
  return place;
}

/** Starts workerd with the configuration in a place. `ask` sends a request over connections that stay open. */
export async function startWorkerd(place) {
  // A file, not a pipe: logging must cost only the process that logs.
  const logFile = join(place, "log");
  const log = openSync(logFile, "w");
  // workerd writes the port that it listens on to the third pipe, as soon as it listens.
  const child = spawn(workerd, ["serve", "--binary", "--control-fd=3", "config.capnp.bin"], { cwd: place, stdio: ["ignore", log, log, "pipe"] });
  closeSync(log);
  const ended = new Promise((done) => child.on("exit", done).on("error", done));
  const end = () => child.kill();
  process.on("exit", end);
  const agent = new Agent({ keepAlive: true });
  const stop = async () => {
    process.off("exit", end);
    agent.destroy();
    child.kill();
    await ended;
  };
  for await (const line of createInterface({ input: child.stdio[3] })) {
    const { event, port } = JSON.parse(line);
    // The log would fill the disk.
    if (event === "listen") return { pid: child.pid, logFile, ask: (path, headers) => ask(agent, port, path, headers), forgetLog: () => truncate(logFile), stop };
  }
  await stop();
  throw new Error(`workerd did not start: ${await readFile(logFile, "utf8")}`);
}

/** Sends a request. Returns its status, its headers as lines in their order, the ETag, and the body. */
function ask(agent, port, path, headers) {
  return new Promise((done, failed) => {
    const sent = request({ host: HOST, port, path, headers, agent, timeout: REQUEST_MS }, async (response) => {
      const body = (await response.setEncoding("utf8").toArray()).join("");
      const lines = response.rawHeaders.flatMap((name, at) => (at % 2 ? [] : [`${name}: ${response.rawHeaders[at + 1]}`]));
      done({ status: response.statusCode, lines: lines.sort(), etag: response.headers.etag, body });
    });
    sent.on("timeout", () => sent.destroy(new Error(`no answer within ${REQUEST_MS / 1000} seconds: ${path}`)));
    sent.on("error", failed);
    sent.end();
  });
}

async function capnp(files, storePort) {
  const text = (value) => JSON.stringify(value);
  const modules = files.map((file) => `(name = ${text(file)}, ${KINDS[/\.\w+$/.exec(file)[0]]} = embed ${text(file)})`);
  const bindings = Object.entries(VARIABLES).map(([name, value]) => `(name = ${text(name)}, text = ${text(value)})`);
  bindings.push('(name = "INDICES", kvNamespace = "store")', '(name = "FACTS", r2Bucket = "store")');
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker), (name = "store", external = (address = "${HOST}:${storePort}", http = ()))],
  sockets = [(name = "main", address = "${HOST}:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (modules = [${modules.join(", ")}], compatibilityDate = ${text(await compatibilityDate())}, bindings = [${bindings.join(", ")}]);
`;
}
