// Object stores on this machine, with empty buckets: each function starts one, which `cleanup` stops. It returns `{ endpoint, env }`
// with the variables for its clients; those with the S3 API also `region`, `accessKeyId` and `secretAccessKey`.
import { createHmac } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { temporaryDirectory } from "../../../scripts/lib/cleanup.mjs";
import { find } from "../../../scripts/lib/clients.mjs";
import { serveProgram } from "../../../scripts/lib/run.mjs";
import { until } from "../../../scripts/lib/wait.mjs";
import { freePort } from "../../../scripts/server.mjs";

const S3 = { region: "us-east-1", accessKeyId: "terrace", secretAccessKey: "a-key-that-opens-nothing" };

/** Starts a program, and waits until `ready` returns a value, which is returned. */
async function started(cleanup, command, args, { log, env, ready }) {
  const server = await serveProgram(command, args, { log, env: { ...process.env, ...env } });
  cleanup.add(`stopping ${command}`, server.stop);
  const found = await until(ready, { ended: server.ended });
  if (!found) throw new Error(`${command} did not start: see ${log}`);
  return found;
}

/** Returns what clients of a store with the S3 API need. */
function described(endpoint) {
  const env = { AWS_ENDPOINT_URL: endpoint, AWS_ALLOW_HTTP: "true", AWS_REGION: S3.region, AWS_ACCESS_KEY_ID: S3.accessKeyId, AWS_SECRET_ACCESS_KEY: S3.secretAccessKey };
  return { ...S3, endpoint, env };
}

/** moto, which checks the conditions of writes. */
export async function startS3(cleanup, { buckets, log }) {
  // The directory of the package is in that of all that it needs.
  const env = { PYTHONPATH: dirname(find("moto")) };
  const ready = async () => (await readFile(log, "utf8")).match(/^(\d+)$/m)?.[1];
  const port = await started(cleanup, "python3", [fileURLToPath(new URL("s3_server.py", import.meta.url)), ...buckets], { log, env, ready });
  return described(`http://127.0.0.1:${port}`);
}

/** The Versity S3 Gateway, over files. */
export async function startGateway(cleanup, { buckets, log }) {
  const directory = temporaryDirectory(cleanup);
  // A bucket is a directory.
  for (const bucket of buckets) await mkdir(join(directory, bucket), { recursive: true });
  const listen = `127.0.0.1:${await freePort()}`;
  const env = { ROOT_ACCESS_KEY: S3.accessKeyId, ROOT_SECRET_KEY: S3.secretAccessKey };
  // Its answer is a refusal without credentials.
  await started(cleanup, "versitygw", ["--port", listen, "posix", directory], { log, env, ready: () => fetch(`http://${listen}`) });
  return described(`http://${listen}`);
}

/** The account of Azurite, which its documentation contains. */
const ACCOUNT = "devstoreaccount1";
const KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/** Azurite, with the API of Azure Blob Storage. */
export async function startAzure(cleanup, { buckets, log }) {
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}/${ACCOUNT}`;
  const program = join(find("azurite"), "dist", "src", "blob", "main.js");
  const args = [program, "--inMemoryPersistence", "--skipApiVersionCheck", "--blobHost", "127.0.0.1", "--blobPort", String(port)];
  await started(cleanup, process.execPath, args, { log, ready: () => fetch(endpoint) });
  for (const bucket of buckets) {
    const { status } = await fetch(`${endpoint}/${bucket}?restype=container`, { method: "PUT", headers: signed(bucket) });
    if (status !== 201) throw new Error(`Azurite answers ${status} to the creation of ${bucket}`);
  }
  return { endpoint, env: { AZURE_STORAGE_ACCOUNT_NAME: ACCOUNT, AZURE_STORAGE_ACCOUNT_KEY: KEY, AZURE_STORAGE_ENDPOINT: endpoint, AZURE_ALLOW_HTTP: "true" } };
}

/** Returns the headers of a request for a container (https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key). */
function signed(container) {
  const headers = { "x-ms-date": new Date().toUTCString(), "x-ms-version": "2021-12-02" };
  const named = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const text = `PUT${"\n".repeat(12)}${named.join("")}/${ACCOUNT}/${ACCOUNT}/${container}\nrestype:container`;
  const signature = createHmac("sha256", Buffer.from(KEY, "base64")).update(text).digest("base64");
  return { ...headers, authorization: `SharedKey ${ACCOUNT}:${signature}` };
}
