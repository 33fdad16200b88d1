// workerd without wrangler's proxy in front: one process that runs the same code once for each deployment.
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

import { npmFile, root } from "../lib/paths.mjs";
import { freePort } from "../server.mjs";

const HOST = "127.0.0.1";
const START_MS = 20_000;

const KINDS = { ".js": "esModule", ".mjs": "esModule", ".wasm": "wasm" };

/** The path of the binary itself: the package's own script would add a process. */
export const { default: workerd } = createRequire(npmFile("wrangler", "package.json"))("workerd");

/**
 * Starts workerd with these modules, files by name (the first is the Worker), once for each of the
 * `deployments`, which are variables by name; KV and R2 are at `storePort`. Returns `{ pid, ports, logFile,
 * stop }`, with a port for each deployment.
 */
export async function startWorkerd({ name, files, deployments, storePort, directory }) {
  const ports = {};
  for (const deployment of Object.keys(deployments)) ports[deployment] = await freePort();
  const place = join(directory, name);
  const config = await configure({ place, files, deployments, ports, storePort });

  // A file, not a pipe: logging must cost only the process that logs.
  const logFile = join(place, "log");
  const log = openSync(logFile, "w");
  const child = spawn(workerd, ["serve", config], { cwd: place, stdio: ["ignore", log, log] });
  closeSync(log);
  const ended = new Promise((done) => child.on("exit", done).on("error", done));
  const end = () => child.kill();
  process.on("exit", end);
  const stop = async () => {
    process.off("exit", end);
    child.kill();
    await ended;
  };
  for (const port of Object.values(ports)) await listening(port, ended, logFile);
  return { pid: child.pid, ports, logFile, stop };
}

/** Writes the modules and their configuration into a directory; returns the path of the configuration. */
export async function configure({ place, files, deployments, ports, storePort }) {
  await mkdir(place, { recursive: true });
  for (const [file, from] of Object.entries(files)) await copyFile(from, join(place, file));
  const config = join(place, "config.capnp");
  await writeFile(config, await capnp({ files: Object.keys(files), deployments, ports, storePort }), { mode: 0o600 });
  return config;
}

async function listening(port, ended, logFile) {
  const deadline = Date.now() + START_MS;
  let hasEnded = false;
  ended.then(() => (hasEnded = true));
  for (;;) {
    const answers = await fetch(`http://${HOST}:${port}/`).then(() => true, () => false);
    if (answers) return;
    if (hasEnded || Date.now() > deadline) throw new Error(`workerd does not answer: ${await readFile(logFile, "utf8")}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

async function capnp({ files, deployments, ports, storePort }) {
  const [, date] = (await readFile(join(root, "wrangler.toml"), "utf8")).match(/^compatibility_date = "(.+)"/m);
  const modules = files.map((file) => `(name = ${text(file)}, ${KINDS[/\.\w+$/.exec(file)[0]]} = embed ${text(file)})`);
  const names = Object.keys(deployments);
  const services = names.map((name) => `(name = ${text(name)}, worker = .${name})`);
  const sockets = names.map((name) => `(name = ${text(name)}, address = "${HOST}:${ports[name]}", http = (), service = ${text(name)})`);
  const workers = Object.entries(deployments).map(([name, variables]) => {
    const texts = Object.entries(variables).map(([variable, value]) => `(name = ${text(variable)}, text = ${text(value)})`);
    const bindings = [`(name = "INDICES", kvNamespace = "store")`, `(name = "FACTS", r2Bucket = "store")`, ...texts];
    return `const ${name} :Workerd.Worker = (
  modules = [${modules.join(", ")}],
  compatibilityDate = ${text(date)},
  bindings = [${bindings.join(", ")}],
);`;
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
