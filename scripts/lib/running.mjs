// The record of the registry that runs over a state directory: a second one would lose its writes, and it theirs.
import { readFile, realpath, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Records the registry that was started. */
export async function recordRunning(stateDir, { pid, url }) {
  await writeFile(fileIn(stateDir), JSON.stringify({ pid, url, directory: await identityOf(stateDir) }));
}

/** Rejects if the registry that was started last over this directory still runs. */
export async function refuseSecond(stateDir) {
  const file = fileIn(stateDir);
  const running = JSON.parse(await readFile(file, "utf8").catch(() => "null"));
  if (running === null || !isAlive(running.pid) || !(await isOf(stateDir, running))) return;
  // The number may belong to another process by now; a registry that is being started does not answer yet.
  const answers = await fetch(running.url).then(() => true, (error) => error.cause?.code !== "ECONNREFUSED");
  if (!answers) return;
  throw new Error(
    `The registry of this checkout already runs, at ${running.url} (process ${running.pid}, by ${file}). ` +
      "Use it, or end it first; another checkout has a registry of its own.",
  );
}

const fileIn = (stateDir) => join(stateDir, "running.json");

/** A copy of a checkout has the record of the original: the path and the inode are others there. */
async function isOf(stateDir, { directory }) {
  if (!directory) return true;
  const { path, inode } = await identityOf(stateDir);
  return directory.path === path || directory.inode === inode;
}

/** Its path, and the number of the directory itself, which stays the same when it is moved. */
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
