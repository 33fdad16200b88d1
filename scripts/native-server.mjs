// Runs `terrace serve`, the registry as a process of this machine.
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

import { cli } from "./build.mjs";
import { temporaryDirectory } from "./lib/cleanup.mjs";
import { CommandFailed, serveProgram } from "./lib/run.mjs";
import { ensureCertificates } from "./lib/tls.mjs";
import { discovery, freePort, newSecrets } from "./server.mjs";

const HOST = "127.0.0.1";

/** In milliseconds: the maximum time until the first answer, and the pause between two requests. */
const START_MS = 30_000;
const PAUSE_MS = 20;

/**
 * Starts the registry and waits until it answers. `buildCli` must have run. `cleanup` stops it.
 *
 * - `https`, `names`, `secrets`, `vars`, `trusts`: as in `startServer` of `server.mjs`;
 * - `stateDir`: keeps the directory of the registry, the certificates and the log; by default a temporary directory, which is
 *   removed;
 * - `port`: 0 selects a free one;
 * - `program`: the `terrace` command to use;
 * - `store`: the URL of an object store, in place of a directory; `storeEnv` are the variables of its client;
 * - `args`: further arguments of `terrace serve`.
 *
 * Returns an object like that of `startServer`, with the directory of the registry as `data` instead of `s3`: downloads have
 * URLs of the server itself.
 */
export async function startNativeServer(
  cleanup,
  {
    https = false,
    names = [],
    port = 0,
    secrets = newSecrets(),
    stateDir = temporaryDirectory(cleanup, { quick: true }),
    vars = {},
    trusts,
    program = cli,
    store,
    storeEnv = {},
    args = [],
  } = {},
) {
  await mkdir(stateDir, { recursive: true });
  const usedPort = port || (await freePort());
  const listen = `${HOST}:${usedPort}`;
  const url = `${https ? "https" : "http"}://${listen}`;
  const tls = https ? await ensureCertificates(join(stateDir, "tls"), { names }) : null;
  const [data, logFile] = [join(stateDir, "registry"), join(stateDir, "logs", "server.log")];
  const place = store ? ["--store", store] : ["--data", data];
  const all = ["serve", ...place, "--listen", listen, ...(tls ? ["--tls-cert", tls.cert, "--tls-key", tls.key] : []), ...args];
  const set = Object.entries({ TERRACE_ADMIN_TOKEN: secrets.adminToken, ...vars }).filter(([, value]) => value !== null);
  const settings = set.map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
  const serverEnv = { ...foreign(), ...(trusts && { SSL_CERT_FILE: trusts }), ...storeEnv, ...Object.fromEntries(settings) };
  await rm(logFile, { force: true });
  const server = await serveProgram(program, all, { env: serverEnv, log: logFile });
  cleanup.add(`stopping the registry at ${url}`, server.stop);
  let hasEnded = false;
  server.ended.then(() => (hasEnded = true));
  const services = await firstAnswer(url, tls, () => hasEnded);
  if (!services) {
    const what = hasEnded ? "did not start" : `does not answer at ${url}`;
    await server.stop();
    await server.logged;
    throw new CommandFailed(`\`terrace serve\` ${what}`, await readFile(logFile, "utf8").catch(() => ""), { logFile });
  }
  const env = { TERRACE_URL: url, TERRACE_TOKEN: secrets.adminToken, ...(tls && { SSL_CERT_FILE: tls.caBundle }) };
  const { ended, stop } = server;
  return { url, port: usedPort, services, secrets, data, env, logFile, pid: server.child.pid, ended, stop };
}

/** The environment of this process, without variables that are meant for the tests, or for another registry or store. */
const foreign = () => Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(TERRACE|AWS|AZURE|GOOGLE)_/.test(name)));

/** Returns the discovery document as soon as the registry answers, or `null` if it has ended, or takes too long. */
async function firstAnswer(url, tls, hasEnded) {
  for (const until = Date.now() + START_MS; Date.now() < until && !hasEnded(); ) {
    const answer = await discovery(url, tls).catch(() => null);
    if (answer?.status === 200) return JSON.parse(answer.body);
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
  return null;
}
