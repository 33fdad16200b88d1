// Runs `terrace serve`, the registry as a process of this machine.
import { join } from "node:path";

import { cli } from "./build.mjs";
import { temporaryDirectory } from "./lib/cleanup.mjs";
import { CommandFailed, serveProgram } from "./lib/run.mjs";
import { freePort, newSecrets } from "./server.mjs";

/** In milliseconds: the maximum time until the first answer, and the pause between two requests. */
const START_MS = 30_000;
const PAUSE_MS = 20;

/**
 * Starts the registry and waits until it answers. `buildCli` must have run. `cleanup` stops it.
 *
 * - `vars`: variables of the registry, by name.
 *
 * Returns `{ url, secrets, logFile, pid, ended, stop }`, like `startServer` of `server.mjs`.
 */
export async function startNativeServer(cleanup, { vars = {} } = {}) {
  const secrets = newSecrets();
  const listen = `127.0.0.1:${await freePort()}`;
  const url = `http://${listen}`;
  const directory = temporaryDirectory(cleanup, { quick: true });
  const [data, logFile] = [join(directory, "registry"), join(directory, "server.log")];
  const settings = { ...vars, TERRACE_ADMIN_TOKEN: secrets.adminToken };
  const server = await serveProgram(cli, ["serve", "--data", data, "--listen", listen], { env: { ...foreign(), ...settings }, log: logFile });
  cleanup.add(`stopping the registry at ${url}`, server.stop);
  if (!(await isUp(url, server.ended))) {
    await server.stop();
    throw new CommandFailed(`\`terrace serve\` does not answer at ${url}`, "", { logFile });
  }
  return { url, secrets, logFile, pid: server.child.pid, ended: server.ended, stop: server.stop };
}

/** The environment of this process, without variables that are meant for the tests or for another registry. */
const foreign = () => Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("TERRACE_")));

/** Waits until the registry answers; returns `false` if it has ended, or takes too long. */
async function isUp(url, ended) {
  let hasEnded = false;
  ended.then(() => (hasEnded = true));
  for (const until = Date.now() + START_MS; Date.now() < until && !hasEnded; ) {
    const answer = await fetch(`${url}/healthz`).catch(() => null);
    if (answer?.ok) return true;
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
  return false;
}
