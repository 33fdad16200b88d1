// The processes of a benchmark of writes: storage in one, and only the Worker in another.
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";

import { nodeForWrangler } from "../../lib/npm.mjs";
import { root, stateDir } from "../../lib/paths.mjs";
import { residentMemory } from "../../lib/processes.mjs";
import { serve } from "../../lib/run.mjs";
import { freePort } from "../../server.mjs";
import { Registry } from "../../../tests/clients/support/registry.mjs";
import { newKey } from "../../../tests/clients/support/signing.mjs";
import { Meter } from "../cpu.mjs";
import { startWorkerd } from "../workerd.mjs";
import { CONTROL, S3 } from "./storage.mjs";

/** The directory of all temporary files. */
export const directory = join(stateDir, "bench", "writes");

const ADMIN_TOKEN = "a-secret-of-this-benchmark-alone";
const VARIABLES = { TERRACE_ADMIN_TOKEN: ADMIN_TOKEN, TERRACE_URL_SECRET: "another-secret-of-this-benchmark" };

/** The duration of an operation while sequential operations are counted: long compared with everything else. */
const DELAY_MS = 10;

/** Registries by their archive URLs: of R2, or of the Worker. All of them share one storage. */
const deployments = (s3Endpoint, vars) => {
  const s3 = {
    TERRACE_S3_ENDPOINT: s3Endpoint,
    TERRACE_S3_BUCKET: "terrace-facts",
    TERRACE_S3_REGION: "auto",
    TERRACE_S3_ACCESS_KEY_ID: "0123456789abcdef0123456789abcdef",
    TERRACE_S3_SECRET_ACCESS_KEY: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
  };
  return { presigned: { ...VARIABLES, ...s3, ...vars }, worker: { ...VARIABLES, ...vars } };
};

/** The storage, with a signing key that `acme` trusts; `registries` starts registries on it. */
export class Storage {
  #server;
  #port;
  #started = [];

  static async start() {
    const storage = new Storage();
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true });
    storage.#port = await freePort();
    const args = [join(root, "scripts", "bench", "writes", "storage.mjs"), String(storage.#port), join(directory, "files")];
    storage.#server = await serve(nodeForWrangler(), args, { log: join(directory, "storage.log") });
    for (let tries = 0; ; tries += 1) {
      const answers = await storage.counts().then(() => true, () => false);
      if (answers) break;
      if (tries === 100) throw new Error("the storage of the benchmark does not answer");
      await new Promise((done) => setTimeout(done, 50));
    }
    storage.key = await newKey(join(directory, "key"));
    return storage;
  }

  /** Returns the requests since the last call. */
  counts() {
    return this.#control();
  }

  /** See `control` of storage.mjs. */
  set(settings) {
    return this.#control({ method: "PUT", body: JSON.stringify(settings) });
  }

  async #control(init) {
    return (await fetch(`http://127.0.0.1:${this.#port}${CONTROL}`, init)).json();
  }

  /** The port of KV, R2 and R2's S3 endpoint. */
  get port() {
    return this.#port;
  }

  /** Starts a new process of workerd, with a registry for each kind of archive URLs: `{ presigned, worker, stop }`. */
  async registries({ vars = {}, inspect = false, s3Endpoint = `http://127.0.0.1:${this.#port}${S3}` } = {}) {
    const bundle = ["index.js", "wasm.js", "index_bg.wasm"].map((name) => [name, join(root, "build", name)]);
    const files = {
      "measured.mjs": join(root, "scripts", "bench", "writes", "measured.mjs"),
      "memory.mjs": join(root, "tests", "clients", "support", "watched", "memory.mjs"),
      ...Object.fromEntries(bundle),
    };
    const options = { name: "workerd", files, deployments: deployments(s3Endpoint, vars), storePort: this.#port, directory, inspect };
    const workerd = await startWorkerd(options);
    this.#started.push(workerd);
    const of = (name) => new Measured(this, workerd, name);
    return { presigned: of("presigned"), worker: of("worker"), stop: () => workerd.stop() };
  }

  async stop() {
    for (const workerd of this.#started) await workerd.stop();
    await this.#server.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** A registry in a measured process. */
class Measured extends Registry {
  constructor(storage, workerd, name) {
    super();
    const url = `http://127.0.0.1:${workerd.ports[name]}`;
    Object.assign(this, { storage, pid: workerd.pid, inspector: workerd.inspector, name, url, secrets: { adminToken: ADMIN_TOKEN } });
  }

  /** The number of requests sent to it, except those for measuring. */
  requests = 0;

  async admin(...args) {
    this.requests += 1;
    return super.admin(...args);
  }

  wasmBytes() {
    return this.json("/.memory");
  }

  /** Returns the number of sequential storage operations during `work`: concurrent ones count once. */
  async inARow(work) {
    await this.storage.set({ delay: DELAY_MS });
    const { total, slept, busy } = await this.measured(work);
    await this.storage.set({ delay: 0 });
    return busy / (slept / total);
  }

  /**
   * Runs `work` and returns its cost: the storage operations, CPU milliseconds of the process, milliseconds,
   * bytes between the Worker and storage, the memory of wasm, and the memory of the process before and at its
   * peak.
   */
  async measured(work) {
    await this.wasmBytes();
    await this.storage.counts();
    const resident = await residentMemory(this.pid);
    const [meter, began] = [new Meter([this.pid]), performance.now()];
    const result = await work();
    const ms = performance.now() - began;
    const taken = meter.used() / 1e6;
    const { operations, received, sent, s3, slept, busy } = await this.storage.counts();
    const { peak } = await resident.end();
    const wasm = await this.wasmBytes();
    const total = Object.values(operations).reduce((sum, count) => sum + count, 0);
    return { result, operations, total, cpu: taken, ms, received, sent, s3, wasm, resident: { before: resident.before, peak }, slept, busy };
  }
}
