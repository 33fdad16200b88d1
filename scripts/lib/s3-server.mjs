// An S3-compatible store for tests: moto, which checks the conditions of writes.
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { find } from "./clients.mjs";
import { root } from "./paths.mjs";
import { serveProgram } from "./run.mjs";

const SERVER = join(root, "scripts", "lib", "s3_server.py");

/** In milliseconds: the maximum time until the server listens, and the pause between two looks at its log. */
const START_MS = 30_000;
const PAUSE_MS = 50;

/**
 * Starts an S3 server with these empty buckets. `cleanup` stops it.
 *
 * Returns `{ endpoint, region, accessKeyId, secretAccessKey, env }`; `env` are the variables for its clients.
 */
export async function startS3(cleanup, { buckets, log }) {
  // The directory of the package is in that of all that it needs.
  const packages = { PYTHONPATH: dirname(find("moto")) };
  const server = await serveProgram("python3", [SERVER, ...buckets], { log, env: { ...process.env, ...packages } });
  cleanup.add("stopping the S3 server", server.stop);
  const port = await portIn(log, server);
  const s3 = { endpoint: `http://127.0.0.1:${port}`, region: "us-east-1", accessKeyId: "terrace", secretAccessKey: "a-key-that-opens-nothing" };
  const env = {
    AWS_ENDPOINT_URL: s3.endpoint,
    AWS_ALLOW_HTTP: "true",
    AWS_REGION: s3.region,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
  return { ...s3, env };
}

/** Waits for the line with the port. */
async function portIn(log, server) {
  let hasEnded = false;
  server.ended.then(() => (hasEnded = true));
  for (const until = Date.now() + START_MS; Date.now() < until && !hasEnded; ) {
    const port = (await readFile(log, "utf8").catch(() => "")).match(/^(\d+)$/m);
    if (port) return Number(port[1]);
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
  throw new Error(`the S3 server did not start: see ${log}`);
}
