// Runs the built Worker in workerd, with KV, R2 and R2's S3 endpoint simulated by wrangler.
import { randomBytes, randomInt } from "node:crypto";
import { mkdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";

import { temporaryDirectory } from "./lib/cleanup.mjs";
import { openS3, s3Variables } from "./lib/local-s3.mjs";
import { nodeForWrangler } from "./lib/npm.mjs";
import { npmFile, root } from "./lib/paths.mjs";
import { CommandFailed, serve } from "./lib/run.mjs";
import { ensureCertificates } from "./lib/tls.mjs";
import { until } from "./lib/wait.mjs";

const HOST = "127.0.0.1";

/** In milliseconds: the timeout of one request for the discovery document, the pause before the next one, and the wait for an answer. */
const REQUEST_MS = 30_000;
const PAUSE_MS = 250;
const START_MS = 300_000;

/** How long a message about a wrong configuration is awaited, in milliseconds; it usually follows the response within one second. */
const EXPLANATION_MS = 10_000;

/** Creates the secrets of a local registry: the admin token, and the key pair of the simulated S3 endpoint. */
export const newSecrets = () => ({
  adminToken: randomBytes(24).toString("base64url"),
  s3: { accessKeyId: randomBytes(16).toString("hex"), secretAccessKey: randomBytes(32).toString("hex") },
});

/** Returns the secrets of the registry in `stateDir`, which are created once. */
export async function secretsIn(stateDir) {
  const file = join(stateDir, "secrets.json");
  const text = await readFile(file, "utf8").catch(() => null);
  if (text !== null) return readSecrets(file, text);
  const made = newSecrets();
  await writeFile(file, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 });
  return made;
}

function readSecrets(file, text) {
  try {
    const { adminToken, s3 } = JSON.parse(text);
    if (adminToken && s3?.accessKeyId && s3?.secretAccessKey) return { adminToken, s3 };
  } catch {
    // Reported below.
  }
  throw new Error(`${file} does not contain the secrets of an earlier start. Remove it: new secrets are created, and published packages stay.`);
}

/**
 * The ports that `freePort` selects from. They are below the ephemeral ports of Linux (32,768 and above, `ip(7)`) and macOS
 * (49,152 and above). The system gives an ephemeral port to any outgoing connection, at times before the registry listens on it.
 */
const PORTS = { from: 15_000, to: 32_000 };
const PORT_ATTEMPTS = 100;

/** Returns a random port that no program listens on at the moment. */
export async function freePort() {
  for (let attempt = 1; attempt <= PORT_ATTEMPTS; attempt += 1) {
    const port = randomInt(PORTS.from, PORTS.to);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port was found between ${PORTS.from} and ${PORTS.to}: end the programs that listen there, and try again`);
}

/** Returns whether no program listens on `port`. */
const isFree = (port) =>
  new Promise((done) => {
    const server = createServer().once("error", () => done(false));
    server.listen(port, HOST, () => server.close(() => done(true)));
  });

/** Returns the port in `PORT`, or the default one. */
export function portOf({ PORT }) {
  const port = Number(PORT || 8787);
  if (!Number.isInteger(port) || port < 1 || port > 65535) throw new Error(`PORT=${PORT} is not a port`);
  return port;
}

/** Rejects if another program listens on `port`; `command` starts the registry. */
export async function requireFree(port, command) {
  if (!(await isFree(port))) throw new Error(`Port ${port} is in use. Choose another one: PORT=${port + 1} ${command}`);
}

/**
 * Starts the registry and waits until it answers. `setup` and `buildWorker` must have run. `cleanup` stops it, even while
 * it is still starting, before it removes the directory.
 *
 * - `port`: 0 selects a free one;
 * - `https`: use a certificate of the local CA in `stateDir`/tls;
 * - `names`: more host names that the certificate is valid for;
 * - `presign`: give the Worker S3 keys, so that its URLs point to the simulated S3 endpoint; without it, it signs its own;
 * - `stateDir`: keeps the storage, the certificates and the log; by default a temporary directory, which is removed;
 * - `secrets`: from `newSecrets`;
 * - `vars`: more variables for the Worker, by name (`null` removes one);
 * - `bindings`: more bindings, in the form of wrangler's configuration;
 * - `worker`: the `main`, and usually the `compatibilityDate`, of another Worker than the one in build/;
 * - `trusts`: a file with CAs that the Worker trusts in its own requests, besides the public ones.
 *
 * Returns `{ url, port, services, secrets, s3, env, logFile, pid, ended, stop }`: `services` is the discovery document,
 * `s3` the address and the keys of the S3 endpoint, `env` the environment that clients need (`TERRACE_URL`,
 * `TERRACE_TOKEN`, with https `SSL_CERT_FILE`), and `ended` settles when the server ends by itself.
 */
export async function startServer(
  cleanup,
  {
    port = 0,
    https = false,
    names = [],
    presign = true,
    stateDir = temporaryDirectory(cleanup),
    secrets = newSecrets(),
    vars = {},
    bindings = {},
    worker,
    trusts,
  } = {},
) {
  await mkdir(stateDir, { recursive: true });
  await refuseSecond(stateDir);
  const usedPort = port || (await freePort());
  const url = `${https ? "https" : "http"}://${HOST}:${usedPort}`;
  const s3 = await openS3(cleanup, { port: usedPort, https, credentials: secrets.s3 });
  const tls = https ? await ensureCertificates(join(stateDir, "tls"), { names }) : null;
  const variables = { TERRACE_ADMIN_TOKEN: secrets.adminToken, ...(presign && s3Variables(s3)), ...vars };
  const files = await writeConfig(stateDir, s3, variables, bindings, {
    main: worker?.main ?? join(root, "build", "index.js"),
    compatibilityDate: worker?.compatibilityDate ?? (await compatibilityDate()),
  });
  const logFile = join(stateDir, "logs", "server.log");
  for (const log of [logFile, join(stateDir, "logs", "wrangler")]) await rm(log, { recursive: true, force: true });

  const args = [
    // Running wrangler without its wrapper script saves a process that would have to be stopped.
    ...["--no-warnings", npmFile("wrangler", "wrangler-dist", "cli.js")],
    ...["dev", "--config", files.config, "--env-file", files.secrets, "--persist-to", join(stateDir, "state")],
    ...["--ip", HOST, "--port", String(usedPort), "--inspector-port", String(await freePort())],
    "--show-interactive-dev-session=false",
    ...(tls ? ["--local-protocol", "https", "--https-key-path", tls.key, "--https-cert-path", tls.cert] : []),
  ];
  const server = await serve(nodeForWrangler(), args, { env: quietEnv(stateDir, trusts), log: logFile });
  cleanup.add(`stopping the registry at ${url}`, server.stop);
  await writeFile(join(stateDir, RUNNING), JSON.stringify({ pid: server.child.pid, url, directory: await realpath(stateDir) }));
  const services = await firstAnswer(url, tls, server, logFile);
  const env = { TERRACE_URL: url, TERRACE_TOKEN: secrets.adminToken, ...(tls && { SSL_CERT_FILE: tls.caBundle }) };
  const { ended, stop } = server;
  return { url, port: usedPort, services, secrets, s3, env, logFile, pid: server.child.pid, ended, stop };
}

/** The record of the registry that runs on a state directory: a second one would lose writes, and so would the first. */
const RUNNING = "running.json";

/** Rejects if the registry that was last started on this directory still answers. A copy of the directory has the record of the original. */
async function refuseSecond(stateDir) {
  const file = join(stateDir, RUNNING);
  const { pid, url, directory } = JSON.parse(await readFile(file, "utf8").catch(() => "{}"));
  if (directory !== (await realpath(stateDir)) || !isAlive(pid)) return;
  if (!(await fetch(url).then(() => true, (error) => error.cause?.code !== "ECONNREFUSED"))) return;
  throw new Error(`The registry of this directory already runs, at ${url} (process ${pid}, by ${file}). Use it, or stop it first; another directory has its own registry.`);
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}

const SECRETS = [
  "TERRACE_ADMIN_TOKEN",
  "TERRACE_ADMIN_TOKEN_PREVIOUS",
  "TERRACE_LOGIN_CLIENT_SECRET",
  "TERRACE_S3_ACCESS_KEY_ID",
  "TERRACE_S3_FALLBACK_ACCESS_KEY_ID",
  "TERRACE_S3_FALLBACK_SECRET_ACCESS_KEY",
  "TERRACE_S3_SECRET_ACCESS_KEY",
  "TERRACE_URL_SECRET",
];

/** Writes wrangler's configuration with the local settings, and the secrets into a file that wrangler does not print. */
async function writeConfig(stateDir, { bucket, accessKeyId, secretAccessKey }, wanted, bindings, worker) {
  const set = Object.entries(wanted).filter(([, value]) => value !== null);
  const config = {
    name: "terrace",
    main: worker.main,
    compatibility_date: worker.compatibilityDate,
    kv_namespaces: [{ binding: "INDICES", id: "indices" }],
    r2_buckets: [{ binding: "FACTS", bucket_name: bucket, local_dev: { experimental_s3_credentials: { accessKeyId, secretAccessKey } } }],
    ...bindings,
    vars: Object.fromEntries(set.filter(([name]) => !SECRETS.includes(name))),
  };
  const secrets = set.filter(([name]) => SECRETS.includes(name)).map(([name, value]) => `${name}=${quoted(name, value)}\n`);
  const files = { config: join(stateDir, "wrangler.json"), secrets: join(stateDir, "secrets.env") };
  await writeFile(files.config, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
  await writeFile(files.secrets, secrets.join(""), { mode: 0o600 });
  return files;
}

/** Quotes a secret for wrangler, which knows no escapes except that of `$`, for its own expansion of variables. */
function quoted(name, setting) {
  const value = String(setting);
  const quote = ["'", '"', "`"].find((character) => !value.includes(character));
  if (!quote || value.includes("\\")) throw new Error(`${name} cannot be passed to wrangler: it contains a backslash, or all three kinds of quotes; set another value on this machine`);
  return `${quote}${value.replaceAll("$", "\\$")}${quote}`;
}

/** Returns the compatibility date of the checkout. */
export const compatibilityDate = async () => (await readFile(join(root, "wrangler.toml"), "utf8")).match(/^compatibility_date = "(.+)"/m)[1];

/** Keeps wrangler from prompting and from sending data, and its own files in our directory. */
const quietEnv = (stateDir, trusts) => ({
  ...process.env,
  ...(trusts && { NODE_EXTRA_CA_CERTS: trusts }),
  CI: "1",
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  WRANGLER_HIDE_BANNER: "true",
  WRANGLER_LOG_PATH: join(stateDir, "logs", "wrangler"),
  WRANGLER_REGISTRY_PATH: join(stateDir, "registry"),
  WRANGLER_SEND_METRICS: "false",
});

/** Waits for the discovery document, and returns it. wrangler holds requests back until the Worker is up. */
async function firstAnswer(url, tls, { ended, stop, logged }, logFile) {
  const log = () => readFile(logFile, "utf8");
  const answer = await until(() => discovery(url, tls), { ms: START_MS, pause: PAUSE_MS, ended });
  if (answer?.status === 200) return JSON.parse(answer.body);
  // wrangler passes a message on after the response, and not once it is stopped. Other lines may contain a secret under a misspelt name.
  const messages = async () => [...new Set((await log()).match(/configuration: [^\n\x1b]+/g))].join("\n");
  if (answer) await until(messages, { ms: EXPLANATION_MS, pause: PAUSE_MS });
  await stop();
  await logged;
  if (answer) throw new CommandFailed(`the registry answers ${answer.status} to discovery: ${answer.body}`, await messages(), { logFile });
  throw new CommandFailed("`wrangler dev` ended, or did not answer in time", await log(), { logFile });
}

/** Requests `GET /.well-known/terraform.json`, trusting the local CA. */
export async function discovery(url, tls) {
  const { get } = await import(tls ? "node:https" : "node:http");
  const options = tls ? { ca: await readFile(tls.ca) } : {};
  return new Promise((done, failed) => {
    const request = get(`${url}/.well-known/terraform.json`, { ...options, agent: false, timeout: REQUEST_MS }, (response) => {
      let body = "";
      response.on("data", (chunk) => (body += chunk));
      response.on("end", () => done({ status: response.statusCode, body }));
      response.on("error", failed);
    });
    request.on("timeout", () => request.destroy(new Error("no answer")));
    request.on("error", failed);
  });
}
