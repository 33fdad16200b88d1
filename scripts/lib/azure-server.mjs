// A store with the API of Azure Blob Storage for tests: Azurite, from npm.
import { createHmac } from "node:crypto";

import { freePort } from "../server.mjs";
import { CLIENTS } from "./clients.mjs";
import { serveProgram } from "./run.mjs";

/** The account of Azurite, which its documentation contains. */
const ACCOUNT = "devstoreaccount1";
const KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const API = "2021-12-02";

/** In milliseconds: the maximum time until the server listens, and the pause between two attempts. */
const START_MS = 30_000;
const PAUSE_MS = 100;

/**
 * Starts a server with these empty containers. `cleanup` stops it.
 *
 * Returns `{ endpoint, env }`; `env` are the variables for its clients.
 */
export async function startAzure(cleanup, { buckets, log }) {
  const port = await freePort();
  const args = [CLIENTS.azurite.file("dist", "src", "blob", "main.js"), "--inMemoryPersistence", "--skipApiVersionCheck", "--blobHost", "127.0.0.1", "--blobPort", String(port)];
  const server = await serveProgram(process.execPath, args, { log });
  cleanup.add("stopping the Azure server", server.stop);
  const endpoint = `http://127.0.0.1:${port}/${ACCOUNT}`;
  for (const bucket of buckets) await created(endpoint, bucket, log);
  const env = { AZURE_STORAGE_ACCOUNT_NAME: ACCOUNT, AZURE_STORAGE_ACCOUNT_KEY: KEY, AZURE_STORAGE_ENDPOINT: endpoint, AZURE_ALLOW_HTTP: "true" };
  return { endpoint, env };
}

/** Creates a container, as soon as the server listens. */
async function created(endpoint, container, log) {
  for (const until = Date.now() + START_MS; Date.now() < until; ) {
    const response = await fetch(`${endpoint}/${container}?restype=container`, { method: "PUT", headers: signed(container) }).catch(() => null);
    if (response?.status === 201) return;
    if (response) throw new Error(`the Azure server answered ${response.status}: ${await response.text()}`);
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
  throw new Error(`the Azure server did not start: see ${log}`);
}

/** Returns the headers of a request for a container (https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key). */
function signed(container) {
  const headers = { "x-ms-date": new Date().toUTCString(), "x-ms-version": API };
  const named = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const text = `PUT${"\n".repeat(12)}${named.join("")}/${ACCOUNT}/${ACCOUNT}/${container}\nrestype:container`;
  const signature = createHmac("sha256", Buffer.from(KEY, "base64")).update(text).digest("base64");
  return { ...headers, authorization: `SharedKey ${ACCOUNT}:${signature}` };
}
