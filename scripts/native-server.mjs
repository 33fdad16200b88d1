// Runs `terrace serve`, the registry as a process of this machine.
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";

import { cli } from "./build.mjs";
import { temporaryDirectory } from "./lib/cleanup.mjs";
import { CommandFailed, serveProgram } from "./lib/run.mjs";
import { ensureCertificates } from "./lib/tls.mjs";
import { until } from "./lib/wait.mjs";
import { discovery, freePort, newSecrets } from "./server.mjs";

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
  const listen = `127.0.0.1:${usedPort}`;
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
  const answer = await until(() => discovery(url, tls).then((found) => found.status === 200 && found), { pause: 20, ended: server.ended });
  if (!answer) {
    await server.stop();
    await server.logged;
    throw new CommandFailed(`\`terrace serve\` does not answer at ${url}`, await readFile(logFile, "utf8").catch(() => ""), { logFile });
  }
  const env = { TERRACE_URL: url, TERRACE_TOKEN: secrets.adminToken, ...(tls && { SSL_CERT_FILE: tls.caBundle }) };
  const { ended, stop } = server;
  return { url, port: usedPort, services: JSON.parse(answer.body), secrets, data, env, logFile, pid: server.child.pid, ended, stop };
}

/** The environment of this process, without variables that are meant for the tests, or for another registry or store. */
const foreign = () => Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(TERRACE|AWS|AZURE|GOOGLE)_/.test(name)));
