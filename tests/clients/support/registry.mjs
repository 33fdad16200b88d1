// A registry to test with, and publishing as the admin API's documentation describes it.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import tls from "node:tls";

import { cli } from "../../../scripts/build.mjs";
import { temporaryDirectory } from "../../../scripts/lib/cleanup.mjs";
import { adminOf, publishRelease } from "../../../scripts/lib/publisher.mjs";
import { startNativeServer } from "../../../scripts/native-server.mjs";
import { newSecrets, startServer } from "../../../scripts/server.mjs";
import { run } from "./programs.mjs";
import { presignedUrl } from "./s3.mjs";
import { newKey } from "./signing.mjs";
import { before, cleanupOf, describe } from "./testing.mjs";

/** Files that concern the Worker alone. */
const ofWorker = /[\\/]tests[\\/](clients[\\/]worker|smoke)[\\/]/.test(process.argv[1]);

/** The host of the registries: `terrace serve`, or the Worker in workerd if the file concerns it or the environment says so. */
export const isNative = !ofWorker && process.env.TERRACE_TEST_HOST !== "workerd";

/** The target of archive URLs: the bucket's S3 endpoint, or the registry itself, as always natively. The environment may select one. */
export const MODES = isNative ? ["worker"] : (process.env.TERRACE_TEST_MODES ?? "presigned,worker").split(",");

/** Defines the same tests for each mode. */
export const inBothModes = (define) => MODES.forEach((mode) => describe(`${mode} URLs`, () => define(mode)));

/**
 * Starts a registry for the tests of the suite that is being defined, before they run; `options` are those of
 * `startServer` and the `args` of `startNativeServer`, or a function that returns them immediately before.
 */
export function useRegistry(options = {}) {
  const registry = new Registry();
  const cleanup = cleanupOf();
  before(async () => {
    await startRegistry(cleanup, typeof options === "function" ? await options() : options, registry);
  }, "starting the registry");
  return registry;
}

/** Returns a registry that runs elsewhere, and is reached by its URL and its admin token alone. */
export async function deployedRegistry(url, adminToken) {
  const registry = Object.assign(new Registry(), { url, secrets: { adminToken } });
  return Object.assign(registry, { services: await registry.json("/.well-known/terraform.json") });
}

/** Starts a registry for the test `t`: `options` are those of `startServer`, and the `mode`. */
export const registryOf = (t, options) => startRegistry(cleanupOf(t), options);

async function startRegistry(cleanup, { mode = "presigned", ...options }, registry = new Registry()) {
  const all = { stateDir: temporaryDirectory(cleanup, { quick: isNative }), secrets: newSecrets(), presign: mode === "presigned", ...options };
  const start = async (at) => {
    Object.assign(registry, await (isNative ? startNativeServer : startServer)(cleanup, { ...all, ...at }));
    if (options.https) await trustCa(registry.env.SSL_CERT_FILE);
  };
  await start();
  return Object.assign(registry, {
    /** Starts it again on the same directory, by default at another port: clients keep connections to the old one. */
    async restart(at) {
      await registry.stop();
      await start(at);
    },
  });
}

const authorities = new Set();

/** Lets requests of this process trust the CAs in a file, besides those of earlier calls. */
export async function trustCa(file) {
  authorities.add(await readFile(file, "utf8"));
  tls.setDefaultCACertificates([...authorities]);
}

/** A running registry, with its properties and requests to it. */
export class Registry {
  request(path, init) {
    return fetch(new URL(path, this.url), init);
  }

  /** Returns the JSON of a read that must succeed. */
  async json(path) {
    const response = await this.request(path);
    if (!response.ok) throw new Error(`GET ${path} answers ${response.status}: ${await response.text()}`);
    return response.json();
  }

  admin(method, path, body, token = this.secrets.adminToken) {
    return adminOf(this.url, token)(method, path, body);
  }

  /** Publishes a release, and returns the last answer. */
  async publish(publication, token) {
    return publishRelease((method, path, body) => this.admin(method, path, body, token), await publication);
  }

  /** Publishes releases, which must be accepted. */
  async publishes(...publications) {
    for (const publication of publications) {
      const { status, answer } = await this.publish(publication);
      if (status !== 201) throw new Error(`publishing answers ${status}: ${JSON.stringify(answer)}`);
    }
  }

  /** Runs `terrace` for this registry, which must end with this code. */
  async terrace(args, { code = 0, cwd, env } = {}) {
    const own = { ...this.env, TERRACE_URL: this.url, TERRACE_TOKEN: this.secrets.adminToken };
    const result = await run(cli, args, { cwd, env: { ...process.env, ...own, ...env } });
    if (result.code !== code) throw new Error(`terrace ${args.join(" ")} ends with ${result.code}: ${result.output}`);
    return result;
  }

  /** Runs `terrace` for this registry, which must end with this code, and returns its report. */
  async report(args, options) {
    const { stdout } = await this.terrace([...args, "--json"], options);
    return JSON.parse(stdout.toString());
  }

  /** Registers a key for a namespace, by default a new one, and returns it. */
  async trusts(namespace, given = newKey()) {
    const key = await given;
    const { status, answer } = await this.admin("PUT", `/admin/v1/namespaces/${namespace}/keys`, key.publicKey);
    if (status !== 200) throw new Error(`adding a key answers ${status}: ${JSON.stringify(answer)}`);
    return key;
  }

  /** The hostname, with the port. */
  get host() {
    return new URL(this.url).host;
  }

  /** The origin of the URLs of archives. */
  get archiveOrigin() {
    return new URL(this.s3?.endpoint ?? this.url).origin;
  }

  /** The file of an object in the directory of `terrace serve`. */
  #file(objectKey) {
    return objectKey.startsWith("archives/") ? join(this.data, objectKey) : join(this.data, "facts", `${objectKey}.json`);
  }

  /** Overwrites an object in the bucket, or its file, without the registry. */
  async overwrite(objectKey, bytes) {
    if (this.data) return writeFile(this.#file(objectKey), bytes);
    const response = await fetch(presignedUrl(this.s3, { method: "PUT", key: objectKey }), { method: "PUT", body: bytes });
    if (!response.ok) throw new Error(`PUT ${objectKey} answers ${response.status}: ${await response.text()}`);
  }

  /** Returns the headers of an object in the bucket, without the registry. */
  head(objectKey) {
    return fetch(presignedUrl(this.s3, { method: "HEAD", key: objectKey }), { method: "HEAD" });
  }
}
