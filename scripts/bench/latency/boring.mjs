// boring-registry beside a bucket over files, with the same packages as the other registries. Each operation on the bucket takes a time.
import { once } from "node:events";
import { Agent, createServer, request as ask } from "node:http";
import { join } from "node:path";

import { serveProgram } from "../../lib/run.mjs";
import { startGateway } from "../../lib/s3-gateway.mjs";
import { freePort } from "../../server.mjs";
import { presignedUrl } from "../../../tests/clients/support/s3.mjs";

const BUCKET = "registry";
const START_MS = 20_000;
const PAUSE_MS = 50;

/**
 * Starts the program with these releases: `{ port, bucket }`; `cleanup` ends it. `bucket` has the `port` of the bucket itself, the `host` that its
 * presigned URLs name, the `delay` of the registry's operations in milliseconds, which can be set, and their `times`.
 */
export async function startBoring(cleanup, { program, releases, publicKey, directory }) {
  const log = (name) => join(directory, `${name}.log`);
  const s3 = await startGateway(cleanup, { buckets: [BUCKET], log: log("s3-gateway") });
  for await (const [key, bytes] of objects(releases, publicKey)) await put({ ...s3, bucket: BUCKET }, key, bytes);
  const bucket = await openBucket(cleanup, s3.endpoint);
  const port = await freePort();
  const settings = { BUCKET, ENDPOINT: `http://${bucket.host}`, REGION: s3.region, PATHSTYLE: "true" };
  const env = {
    ...process.env,
    ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [`BORING_REGISTRY_STORAGE_S3_${name}`, value])),
    BORING_REGISTRY_STORAGE_MODULE_ARCHIVE_FORMAT: "zip",
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
  const listen = ["--listen-address", `127.0.0.1:${port}`, "--listen-telemetry-address", `127.0.0.1:${await freePort()}`];
  const server = await serveProgram(program, ["server", ...listen], { env, log: log("boring-registry") });
  cleanup.add("stopping boring-registry", server.stop);
  await answered(port, log("boring-registry"));
  return { port, bucket };
}

/** The objects of releases, as `boring-registry upload` names them. */
async function* objects(releases, publicKey) {
  yield ["providers/acme/signing-keys.json", JSON.stringify({ gpg_public_keys: [{ ascii_armor: publicKey }] })];
  for await (const { path, body, archives } of releases) {
    const [, , , kind, ...address] = path.split("/");
    const version = address.pop();
    const folder = `${kind}/${address.join("/")}`;
    if (kind === "modules") {
      yield [`${folder}/${address.join("-")}-${version}.zip`, archives.get(body.archive.sha256)];
      continue;
    }
    const sums = `${folder}/terraform-provider-${address[1]}_${version}_SHA256SUMS`;
    yield [sums, body.shasums];
    yield [`${sums}.sig`, Buffer.from(body.signature, "base64")];
    for (const { filename, sha256 } of body.packages) yield [`${folder}/${filename}`, archives.get(sha256)];
  }
}

async function put(s3, key, body) {
  const response = await fetch(presignedUrl(s3, { method: "PUT", key, lifetime: 60 }), { method: "PUT", body });
  if (!response.ok) throw new Error(`storing ${key} answers ${response.status}: ${await response.text()}`);
}

/** Opens a proxy to a bucket, for the registry alone: clients reach the bucket without it. */
async function openBucket(cleanup, endpoint) {
  const { port } = new URL(endpoint);
  const bucket = { port, delay: 0, times: [] };
  const agent = new Agent({ keepAlive: true });
  const server = createServer(async (request, response) => {
    const began = performance.now();
    await new Promise((done) => setTimeout(done, bucket.delay));
    const { method, url, headers } = request;
    const sent = ask({ host: "127.0.0.1", port, method, path: url, headers, agent });
    request.pipe(sent);
    sent.on("error", () => response.destroy());
    sent.on("response", (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response).on("finish", () => bucket.times.push([began, performance.now()]));
    });
  });
  server.listen(await freePort(), "127.0.0.1");
  await once(server, "listening");
  bucket.host = `127.0.0.1:${server.address().port}`;
  cleanup.add("closing the way to the bucket", () => {
    server.closeAllConnections();
    server.close();
    agent.destroy();
  });
  return bucket;
}

async function answered(port, log) {
  for (const until = Date.now() + START_MS; Date.now() < until; ) {
    if (await fetch(`http://127.0.0.1:${port}/.well-known/terraform.json`).catch(() => null)) return;
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
  throw new Error(`boring-registry does not answer: see ${log}`);
}
