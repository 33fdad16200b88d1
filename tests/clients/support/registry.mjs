// A registry to test with, and publishing into it the way the admin API's documentation says.
import { startServer } from "../../../scripts/server.mjs";
import { presignedUrl } from "./s3.mjs";
import { before, cleanupOf, describe } from "./testing.mjs";

/** Where archive URLs lead to: the bucket's S3 endpoint, or the Worker. */
export const MODES = ["presigned", "worker"];

/** Defines the same tests for each mode. */
export const inBothModes = (define) => MODES.forEach((mode) => describe(`${mode} URLs`, () => define(mode)));

/**
 * A registry for the tests of the suite that is being defined, there as soon as they run; `options` as of `startServer`,
 * or a function that gives them just before.
 */
export function useRegistry(options = {}) {
  const registry = new Registry();
  const cleanup = cleanupOf();
  before(async () => {
    Object.assign(registry, await startRegistry(cleanup, typeof options === "function" ? await options() : options));
  }, "starting the registry");
  return registry;
}

/** The same for the test `t`: `options` as of `startServer`, and the `mode`. */
export const registryOf = (t, options) => startRegistry(cleanupOf(t), options);

async function startRegistry(cleanup, { mode = "presigned", ...options }) {
  return Object.assign(new Registry(), await startServer(cleanup, { ...options, presign: mode === "presigned" }));
}

/** What is known about a running registry, and what can be asked of it. */
export class Registry {
  request(path, init) {
    return fetch(new URL(path, this.url), init);
  }

  /** The JSON of a read that must succeed. */
  async json(path) {
    const response = await this.request(path);
    if (!response.ok) throw new Error(`GET ${path} answers ${response.status}: ${await response.text()}`);
    return response.json();
  }

  async admin(method, path, body, token = this.secrets.adminToken) {
    const headers = { authorization: `Bearer ${token}` };
    const response = await this.request(path, { method, headers, body });
    return { status: response.status, answer: await response.json() };
  }

  /** Describe, send what is missing, describe again. Returns the last answer. */
  async publish(publication, token) {
    const release = await publication;
    const describe = () => this.admin("PUT", release.path, JSON.stringify(release.body), token);
    const first = await describe();
    if (first.status !== 202) return first;
    for (const { sha256, upload } of first.answer.missing) await send(upload, release.archives.get(sha256));
    return describe();
  }

  /** Publishes what must be accepted. */
  async publishes(...publications) {
    for (const publication of publications) {
      const { status, answer } = await this.publish(publication);
      if (status !== 201) throw new Error(`publishing answers ${status}: ${JSON.stringify(answer)}`);
    }
  }

  /** Registers a key for a namespace. */
  async trusts(namespace, key) {
    const { status, answer } = await this.admin("PUT", `/admin/v1/namespaces/${namespace}/keys`, key.publicKey);
    if (status !== 200) throw new Error(`adding a key answers ${status}: ${JSON.stringify(answer)}`);
  }

  /** Puts bytes into the bucket behind the registry's back. */
  async overwrite(objectKey, bytes) {
    const url = presignedUrl(this.s3, { method: "PUT", key: objectKey, lifetime: 60 });
    const response = await fetch(url, { method: "PUT", body: bytes });
    if (!response.ok) throw new Error(`overwriting ${objectKey} answers ${response.status}: ${await response.text()}`);
  }

  /** Removes an object from the bucket behind the registry's back. */
  async remove(objectKey) {
    const url = presignedUrl(this.s3, { method: "DELETE", key: objectKey, lifetime: 60 });
    const response = await fetch(url, { method: "DELETE" });
    if (!response.ok) throw new Error(`removing ${objectKey} answers ${response.status}: ${await response.text()}`);
  }
}

/** Sends an archive as the registry asked for it. */
async function send({ method, url, headers }, body) {
  const response = await fetch(url, { method, headers, body });
  if (!response.ok) throw new Error(`${method} ${url} answers ${response.status}: ${await response.text()}`);
}
