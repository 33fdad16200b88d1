// A second S3-compatible store for tests, over files: the Versity S3 Gateway, `versitygw`.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { freePort } from "../server.mjs";
import { temporaryDirectory } from "./cleanup.mjs";
import { serveProgram } from "./run.mjs";

/** In milliseconds: the maximum time until the server listens, and the pause between two attempts. */
const START_MS = 30_000;
const PAUSE_MS = 100;

/** Starts a server with these empty buckets. `cleanup` stops it. Returns the same as `startS3` of `s3-server.mjs`. */
export async function startGateway(cleanup, { buckets, log }) {
  const directory = temporaryDirectory(cleanup);
  // A bucket is a directory.
  for (const bucket of buckets) await mkdir(join(directory, bucket), { recursive: true });
  const listen = `127.0.0.1:${await freePort()}`;
  const s3 = { endpoint: `http://${listen}`, region: "us-east-1", accessKeyId: "terrace", secretAccessKey: "a-key-that-opens-nothing" };
  const credentials = { ROOT_ACCESS_KEY: s3.accessKeyId, ROOT_SECRET_KEY: s3.secretAccessKey };
  const server = await serveProgram("versitygw", ["--port", listen, "posix", directory], { log, env: { ...process.env, ...credentials } });
  cleanup.add("stopping the S3 gateway", server.stop);
  await answered(s3.endpoint, log);
  const env = {
    AWS_ENDPOINT_URL: s3.endpoint,
    AWS_ALLOW_HTTP: "true",
    AWS_REGION: s3.region,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
  return { ...s3, env };
}

/** Waits for an answer, which is a refusal without credentials. */
async function answered(endpoint, log) {
  for (const until = Date.now() + START_MS; Date.now() < until; ) {
    if (await fetch(endpoint).catch(() => null)) return;
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
  throw new Error(`the S3 gateway did not start: see ${log}`);
}
