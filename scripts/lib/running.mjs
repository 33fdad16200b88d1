// The record of the registry that runs on a state directory: a second registry would lose writes, and so
// would the first.
import { readFile, realpath, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Records a started registry. */
export async function recordRunning(stateDir, { pid, url }) {
  await writeFile(fileIn(stateDir), JSON.stringify({ pid, url, directory: await identityOf(stateDir) }));
}

/** Rejects if the registry that was last started on this directory still runs. */
export async function refuseSecond(stateDir) {
  const file = fileIn(stateDir);
  const running = JSON.parse(await readFile(file, "utf8").catch(() => "null"));
  if (running === null || !isAlive(running.pid) || !(await isOf(stateDir, running))) return;
  // The process ID may have been reused; a registry that is still starting does not answer yet.
  const answers = await fetch(new URL("/.well-known/terraform.json", running.url)).then(() => true, (error) => error.cause?.code !== "ECONNREFUSED");
  if (!answers) return;
  throw new Error(
    `The registry of this directory already runs, at ${running.url} (process ${running.pid}, by ${file}). ` +
      "Use it, or stop it first; another directory has its own registry.",
  );
}

const fileIn = (stateDir) => join(stateDir, "running.json");

/** A copy of a checkout contains the record of the original, but its path and inode differ. */
async function isOf(stateDir, { directory }) {
  if (!directory) return true;
  const { path, inode } = await identityOf(stateDir);
  return directory.path === path || directory.inode === inode;
}

/** Returns the path, and the inode of the directory, which stays the same when it is moved. */
async function identityOf(stateDir) {
  const { dev, ino } = await stat(stateDir, { bigint: true });
  return { path: await realpath(stateDir), inode: `${dev}:${ino}` };
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}
