// A registry in workerd without wrangler, with instrumented bindings. See watched/worker.mjs.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

import { temporaryDirectory } from "../../../scripts/lib/cleanup.mjs";
import { openS3, s3Variables } from "../../../scripts/lib/local-s3.mjs";
import { npmFile, root } from "../../../scripts/lib/paths.mjs";
import { compatibilityDate, freePort, newSecrets } from "../../../scripts/server.mjs";
import { Inspector } from "./inspector.mjs";
import { childrenOf } from "./processes.mjs";
import { Registry } from "./registry.mjs";
import { before, cleanupOf } from "./testing.mjs";

const HOST = "127.0.0.1";
const NAME = "terrace";

/** The simulator that wrangler itself uses. */
const { Miniflare } = createRequire(npmFile("wrangler", "package.json"))("miniflare");

/**
 * A watched registry for the tests of the suite that is being defined.
 *
 * - `keepsChecksums`: keep the checksums of uploads by S3, as R2 does; the simulator itself drops them;
 * - `vars`: more variables for the Worker;
 * - `quick`: that of `temporaryDirectory`.
 */
export function useWatchedRegistry({ mode = "presigned", keepsChecksums = false, vars = {}, quick = false } = {}) {
  const registry = new WatchedRegistry({ mode, keepsChecksums, vars });
  const cleanup = cleanupOf();
  before(() => registry.start(cleanup, { quick }), "starting the registry");
  return registry;
}

/** A watched registry for scripts, which start it themselves. */
export class WatchedRegistry extends Registry {
  #options;
  #cleanup;
  #miniflare;

  constructor({ mode = "presigned", keepsChecksums = false, vars = {} } = {}) {
    super();
    this.#options = { mode, keepsChecksums, vars, secrets: newSecrets() };
  }

  /** Starts it in a temporary directory. `cleanup` stops it and removes the directory. */
  async start(cleanup, { quick = false } = {}) {
    this.stateDir = temporaryDirectory(cleanup, { quick });
    this.#cleanup = cleanup;
    cleanup.add("stopping the registry", () => this.stop());
    await this.#start();
  }

  async #start() {
    const { secrets, mode, keepsChecksums, vars } = this.#options;
    // Uses new ports each time, because clients keep connections to the old ones.
    const port = await freePort();
    const url = `http://${HOST}:${port}`;
    const s3 = await openS3(this.#cleanup, { port, credentials: secrets.s3 });
    const variables = {
      TERRACE_ADMIN_TOKEN: secrets.adminToken,
      ...(mode !== "worker" && s3Variables(s3)),
      ...(mode === "edge" && { TERRACE_DOWNLOADS: "edge" }),
      ...(keepsChecksums && { KEEPS_CHECKSUMS: "yes" }),
      ...vars,
    };
    const others = childrenOf(process.pid, "workerd");
    this.#miniflare = new Miniflare({
      host: HOST,
      port,
      inspectorHost: HOST,
      inspectorPort: 0,
      resourcePersistencePath: join(this.stateDir, "state"),
      telemetry: { enabled: false },
      workers: [{ config: { ...(await source()), env: bindings(s3, variables) } }],
    });
    await this.#miniflare.ready;
    const [pid] = childrenOf(process.pid, "workerd").filter((child) => !others.includes(child));
    Object.assign(this, { url, s3, secrets, pid });
    this.services = await this.json("/.well-known/terraform.json");
    await this.watched();
  }

  /** Connects to the inspector of the Worker itself. */
  async inspector() {
    return Inspector.connect(await this.#miniflare.getInspectorURL(), `core:user:${NAME}`);
  }

  async stop() {
    await this.#miniflare?.dispose();
  }

  /** Starts a new process, and so a new Worker, on the same storage. */
  async restart() {
    await this.stop();
    await this.#start();
  }

  /**
   * Returns `{ requests, operations, downloads, wasmBytes }`: the Worker's requests, its operations and its
   * data points since the last call, and the size of its memory.
   */
  watched() {
    return this.json("/.watched");
  }

  /** Returns all indices as in KV: `{ key, text, metadata }`. */
  async indices() {
    const namespace = await this.#miniflare.getKVNamespace("INDICES");
    const entries = [];
    for (let cursor, isLast = false; !isLast; ) {
      const page = await namespace.list({ cursor });
      for (const { name, metadata } of page.keys) entries.push({ key: name, text: await namespace.get(name), metadata });
      cursor = page.cursor;
      isLast = page.list_complete;
    }
    return entries;
  }

  /** Makes the bucket state this size for each archive; with null, its own. */
  async statesSize(statedSize) {
    await this.request("/.watched", { method: "POST", body: JSON.stringify({ statedSize }) });
  }

  /** Runs the scheduled event, as the cron trigger does. */
  async runScheduled() {
    await this.json("/.watched?scheduled");
  }

  /** Lets each operation of the bucket fail from now on, or none. */
  async setR2Down(isDown) {
    await this.json(`/.watched?r2=${isDown ? "down" : "up"}`);
  }

  /** Puts objects, `{ key, text, metadata }`, into the bucket. */
  async store(objects) {
    const response = await this.request("/.watched", { method: "PUT", body: JSON.stringify(objects) });
    if (!response.ok) throw new Error(await response.text());
  }
}

async function source() {
  const modules = {};
  const add = async (name, type, file) => {
    modules[name] = { type, contents: await readFile(file, type === "wasm" ? null : "utf8") };
  };
  for (const name of ["worker.mjs", "memory.mjs"]) await add(name, "esm", new URL(`watched/${name}`, import.meta.url));
  for (const name of ["index.js", "wasm.js"]) await add(name, "esm", join(root, "build", name));
  await add("index_bg.wasm", "wasm", join(root, "build", "index_bg.wasm"));
  return { name: NAME, compatibilityDate: await compatibilityDate(), manifest: { mainModule: "worker.mjs", modulesRoot: root, modules } };
}

const bindings = ({ bucket, accessKeyId, secretAccessKey }, variables) => ({
  INDICES: { type: "kv", id: "indices" },
  FACTS: { type: "r2", name: bucket, dev: { experimentalS3Credentials: { accessKeyId, secretAccessKey } } },
  ...Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, { type: "text", value }])),
});
