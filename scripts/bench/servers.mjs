// The processes of a benchmark: storage, the Worker and the floor.
import { mkdir, truncate } from "node:fs/promises";
import { join } from "node:path";

import { nodeForWrangler } from "../lib/npm.mjs";
import { root, stateDir } from "../lib/paths.mjs";
import { serve } from "../lib/run.mjs";
import { freePort } from "../server.mjs";
import { DEPLOYMENTS } from "./cases.mjs";
import { Connection } from "./load.mjs";
import { CONTROL } from "./store.mjs";
import { startWorkerd } from "./workerd.mjs";

const directory = join(stateDir, "bench");
const built = (name) => join(root, "build", name);
const here = (name) => join(root, "scripts", "bench", name);

/** The modules of the Worker, and those of the floor; the first one is the entry point. */
export const BUNDLE = { "index.js": built("index.js"), "wasm.js": built("wasm.js"), "index_bg.wasm": built("index_bg.wasm") };
export const FLOOR = { "floor.js": here("floor.js") };

/** Starts all of them with these indices; returns `{ ours, floor, stop }`. */
export async function startServers(entries) {
  await mkdir(directory, { recursive: true });
  const store = await startStore(entries);
  const common = { deployments: DEPLOYMENTS, storePort: store.port, directory };
  const started = [store];
  const start = async (name, files) => {
    const server = new Server(await startWorkerd({ ...common, name, files }));
    started.push(server);
    return server;
  };
  const stop = () => Promise.all(started.map((server) => server.stop()));
  try {
    const ours = await start("terrace", BUNDLE);
    const floor = await start("floor", FLOOR);
    return { ours, floor, stop };
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
  return { port, stop };
}

/** A process of workerd, with connections to its deployments. */
class Server {
  #workerd;
  #connections = {};

  constructor(workerd) {
    this.#workerd = workerd;
  }

  get pid() {
    return this.#workerd.pid;
  }

  get logFile() {
    return this.#workerd.logFile;
  }

  /** Returns that many connections; they stay open. */
  async connections(deployment, many) {
    const open = (this.#connections[deployment] ??= []);
    while (open.length < many) open.push(await Connection.open(this.#workerd.ports[deployment]));
    return open.slice(0, many);
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
