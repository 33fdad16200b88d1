// The processes of a benchmark: storage, the Worker, the floor, and a second Worker that counts calls across
// the wasm boundary.
import { mkdir, truncate } from "node:fs/promises";
import { join } from "node:path";

import { nodeForWrangler } from "../lib/npm.mjs";
import { root, stateDir } from "../lib/paths.mjs";
import { serve } from "../lib/run.mjs";
import { freePort } from "../server.mjs";
import { DEPLOYMENTS } from "./cases.mjs";
import { Connection, wire } from "./load.mjs";
import { CONTROL } from "./store.mjs";
import { startWorkerd } from "./workerd.mjs";

const directory = join(stateDir, "bench");
const built = (name) => join(root, "build", name);
const here = (name) => join(root, "scripts", "bench", name);

/** The modules of the Worker, and those of the floor; the first one is the entry point. */
export const BUNDLE = { "index.js": built("index.js"), "wasm.js": built("wasm.js"), "index_bg.wasm": built("index_bg.wasm") };
export const FLOOR = { "floor.js": here("floor.js") };

/**
 * Starts all of them with these indices; returns `{ ours, floor, counted, stop }`. With `inspect` they can be
 * profiled, and the functions of the wasm have names.
 */
export async function startServers(entries, { inspect = false } = {}) {
  await mkdir(directory, { recursive: true });
  const store = await startStore(entries);
  const bundle = { ...BUNDLE, ...(inspect && { "index_bg.wasm": built("index_bg.names.wasm") }) };
  const common = { deployments: DEPLOYMENTS, storePort: store.port, directory, inspect };
  const started = [store];
  const start = async (name, files) => {
    const server = new Server(await startWorkerd({ ...common, name, files }), store);
    started.push(server);
    return server;
  };
  const stop = () => Promise.all(started.map((server) => server.stop()));
  try {
    const ours = await start("terrace", bundle);
    const floor = await start("floor", FLOOR);
    const counted = await start("counted", { "counted.mjs": here("counted.mjs"), "crossings.mjs": here("crossings.mjs"), ...bundle });
    return { ours, floor, counted, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts KV and R2, with these indices in KV. */
export async function startStore(entries) {
  const port = await freePort();
  const { stop } = await serve(nodeForWrangler(), [here("store.mjs"), String(port)], { log: join(directory, "store.log") });
  const url = `http://127.0.0.1:${port}${CONTROL}`;
  for (let tries = 0; ; tries += 1) {
    try {
      await fetch(url, { method: "PUT", body: JSON.stringify(entries) });
      break;
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise((done) => setTimeout(done, 50));
    }
  }
  /** Returns `{ kv, r2 }`, the operations since the last call. */
  const counts = async () => (await fetch(url)).json();
  return { port, counts, stop };
}

/** A process of workerd, with connections to its deployments. */
class Server {
  #workerd;
  #store;
  #connections = {};

  constructor(workerd, store) {
    this.#workerd = workerd;
    this.#store = store;
  }

  get pid() {
    return this.#workerd.pid;
  }

  /** The address of V8's inspector for a deployment. */
  get inspector() {
    return this.#workerd.inspector;
  }

  get logFile() {
    return this.#workerd.logFile;
  }

  /** Returns that many connections; they stay open. */
  async connections(deployment, many) {
    const open = (this.#connections[deployment] ??= []);
    while (open.length < many) open.push(await Connection.open({ host: "127.0.0.1", port: this.#workerd.ports[deployment] }));
    return open.slice(0, many);
  }

  /** Returns the operations of storage of a request, and the calls across the wasm boundary if they are counted. */
  async costOf(deployment, request, { crossings = false } = {}) {
    const [connection] = await this.connections(deployment, 1);
    const told = async () => JSON.parse((await connection.ask(CROSSINGS, { keep: true })).body);
    await this.#store.counts();
    if (crossings) await told();
    await connection.ask(request);
    const crossed = crossings ? await told() : {};
    return { ...(await this.#store.counts()), ...crossed };
  }

  /** Truncates the log, which would fill the disk. */
  forgetLog() {
    return truncate(this.logFile);
  }

  async stop() {
    for (const connection of Object.values(this.#connections).flat()) connection.close();
    await this.#workerd.stop();
  }
}

const CROSSINGS = wire({ path: "/.crossings", headers: { host: "127.0.0.1" } });
