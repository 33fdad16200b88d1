// workerd without wrangler's proxy in front: one process that runs the same code once for each deployment, over KV and R2 in memory.
import { execFileSync, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { copyFile, mkdir, readFile, truncate, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { nodeForWrangler } from "../lib/npm.mjs";
import { npmFile, root, stateDir } from "../lib/paths.mjs";
import { serve } from "../lib/run.mjs";
import { until } from "../lib/wait.mjs";
import { freePort } from "../server.mjs";
import { Client } from "./http.mjs";
import { CONTROL } from "./store.mjs";

const HOST = "127.0.0.1";
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

/** Starts KV and R2, with these indices in KV. */
export async function startStore(entries) {
  await mkdir(directory, { recursive: true });
  const port = await freePort();
  const { stop } = await serve(nodeForWrangler(), [here("store.mjs"), String(port)], { log: join(directory, "store.log") });
  const isFilled = await until(() => fetch(`http://${HOST}:${port}${CONTROL}`, { method: "PUT", body: JSON.stringify(entries) }));
  if (!isFilled) throw new Error("the store of the benchmark did not start");
  return { port, stop };
}

/**
 * Writes the modules of a side and their configuration for each of the `deployments`, which are variables by name. Returns the
 * path of the configuration. It is compiled together with the modules, which the runtime reads directly: reading two megabytes as
 * text takes 8 ms of CPU.
 */
export async function configure(side, { deployments, storePort, place = join(directory, side) }) {
  await mkdir(place, { recursive: true });
  for (const [file, from] of Object.entries(SIDES[side])) await copyFile(from, join(place, file));
  const text = join(place, "config.capnp");
  await writeFile(text, await capnp({ files: Object.keys(SIDES[side]), deployments, storePort }), { mode: 0o600 });
  const file = openSync(`${text}.bin`, "w", 0o600);
  execFileSync(workerd, ["compile", "--config-only", text], { cwd: place, stdio: ["ignore", file, "inherit"] });
  closeSync(file);
  return { place, binary: `${text}.bin`, names: Object.keys(deployments) };
}

/** Starts workerd with a configuration. Its connections stay open. */
export async function startWorkerd({ place, binary, names }) {
  // A file, not a pipe: logging must cost only the process that logs.
  const logFile = join(place, "log");
  const log = openSync(logFile, "w");
  // workerd writes the ports that it listens on to the third pipe, as soon as it listens.
  const child = spawn(workerd, ["serve", "--binary", "--control-fd=3", binary], { cwd: place, stdio: ["ignore", log, log, "pipe"] });
  closeSync(log);
  const ended = new Promise((done) => child.on("exit", done).on("error", done));
  const end = () => child.kill();
  process.on("exit", end);
  const clients = {};
  const stop = async () => {
    process.off("exit", end);
    Object.values(clients).forEach((client) => client.close());
    child.kill();
    await ended;
  };
  for await (const line of createInterface({ input: child.stdio[3] })) {
    const { event, socket, port } = JSON.parse(line);
    if (event === "listen") clients[socket] = new Client(port);
    if (Object.keys(clients).length === names.length) {
      // The log would fill the disk.
      return { pid: child.pid, logFile, client: (deployment) => clients[deployment], forgetLog: () => truncate(logFile), stop };
    }
  }
  await stop();
  throw new Error(`workerd did not start: ${await readFile(logFile, "utf8")}`);
}

async function capnp({ files, deployments, storePort }) {
  const [, date] = (await readFile(join(root, "wrangler.toml"), "utf8")).match(/^compatibility_date = "(.+)"/m);
  const modules = files.map((file) => `(name = ${text(file)}, ${KINDS[/\.\w+$/.exec(file)[0]]} = embed ${text(file)})`);
  const names = Object.keys(deployments);
  const services = names.map((name) => `(name = ${text(name)}, worker = .${name})`);
  const sockets = names.map((name) => `(name = ${text(name)}, address = "${HOST}:0", http = (), service = ${text(name)})`);
  const workers = Object.entries(deployments).map(([name, variables]) => {
    const texts = Object.entries(variables).map(([variable, value]) => `(name = ${text(variable)}, text = ${text(value)})`);
    const bindings = [`(name = "INDICES", kvNamespace = "store")`, `(name = "FACTS", r2Bucket = "store")`, ...texts];
    return `const ${name} :Workerd.Worker = (modules = [${modules.join(", ")}], compatibilityDate = ${text(date)}, bindings = [${bindings.join(", ")}]);`;
  });
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [${services.join(", ")}, (name = "store", external = (address = "${HOST}:${storePort}", http = ()))],
  sockets = [${sockets.join(", ")}],
);
${workers.join("\n")}
`;
}

const text = (value) => JSON.stringify(value);
