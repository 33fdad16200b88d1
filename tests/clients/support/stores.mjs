// Object stores on this machine, with empty buckets: each function starts one, which `cleanup` stops. It returns `{ endpoint, env }`
// with the variables for its clients; that with the S3 API also `region`, `accessKeyId` and `secretAccessKey`.
import { createHmac } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { temporaryDirectory } from "../../../scripts/lib/cleanup.mjs";
import { find } from "../../../scripts/lib/clients.mjs";
import { serveProgram } from "../../../scripts/lib/run.mjs";
import { until } from "../../../scripts/lib/wait.mjs";
import { freePort } from "../../../scripts/server.mjs";

const S3 = { region: "us-east-1", accessKeyId: "terrace", secretAccessKey: "a-key-that-opens-nothing" };

/** Starts a program, and waits until it answers at this URL: its answer is a refusal without credentials. */
async function started(cleanup, command, args, { log, env, url }) {
  const server = await serveProgram(command, args, { log, env: { ...process.env, ...env } });
  cleanup.add(`stopping ${command}`, server.stop);
  if (!(await until(() => fetch(url), { ended: server.ended }))) throw new Error(`${command} did not start: see ${log}`);
}

/** The Versity S3 Gateway, over files. It checks signatures, checksums and the conditions of writes. */
export async function startGateway(cleanup, { buckets, log }) {
  const directory = temporaryDirectory(cleanup);
  // A bucket is a directory.
  for (const bucket of buckets) await mkdir(join(directory, bucket), { recursive: true });
  const listen = `127.0.0.1:${await freePort()}`;
  const endpoint = `http://${listen}`;
  const { region, accessKeyId, secretAccessKey } = S3;
  const keys = { ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey };
  await started(cleanup, "versitygw", ["--port", listen, "posix", directory], { log, env: keys, url: endpoint });
  const env = { AWS_ENDPOINT_URL: endpoint, AWS_ALLOW_HTTP: "true", AWS_REGION: region, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
  return { ...S3, endpoint, env };
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
  await started(cleanup, process.execPath, args, { log, url: endpoint });
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
