// Clean-up after a script or a test: servers are stopped first, then the directories that they wrote to are
// removed.
import { mkdtempSync, statfsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Enough to kill a server that ignores SIGTERM, and to remove a large directory on a busy machine. */
const LIMIT_MS = 60_000;

/** The first attempt to remove a directory can fail while a process that was just killed still writes to it. */
const REMOVAL = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };

/** The directory for temporary files that need no speed. */
const temporaryRoot = tmpdir();

const IN_MEMORY = "/dev/shm";
const ENOUGH_MEMORY = 256 * 1024 * 1024;

/**
 * Actions to run at the end, last in, first out: a server starts after its directory is created, and stops
 * before the directory is removed. If an action fails or exceeds its time limit, the others still run.
 */
export class Cleanup {
  #actions = [];
  #ending;

  /**
   * Adds an action. Its title, such as "stopping the server", appears in the report if the action fails.
   * After `run`, an action is run immediately: abandoned work may continue and start a server.
   */
  add(title, action) {
    if (this.isOver) within(LIMIT_MS, title, action).catch((error) => console.error(error.message));
    else this.#actions.push({ title, action });
  }

  /** Whether `run` was called. */
  get isOver() {
    return this.#ending !== undefined;
  }

  /** Runs all actions, once, however often it is called. Rejects at the end with the names of those that failed. */
  run() {
    return (this.#ending ??= this.#runAll());
  }

  async #runAll() {
    // Actions that are added from now on run immediately.
    await null;
    const failures = [];
    while (this.#actions.length > 0) {
      const { title, action } = this.#actions.pop();
      await within(LIMIT_MS, title, action).catch((error) => failures.push(error));
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join("\n"));
  }
}

/** Runs `work`, and rejects if it fails or takes longer than `ms`. */
export async function within(ms, title, work) {
  let timer;
  const late = new Promise((_, failed) => {
    timer = setTimeout(() => failed(new Error(`it did not end within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([(async () => work())(), late]);
  } catch (error) {
    throw new Error(`${title}: ${error.message}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Creates a directory that `cleanup` removes.
 *
 * - `quick`: avoids the disk, for thousands of small writes that would each wait for it.
 */
export function temporaryDirectory(cleanup, { quick = false } = {}) {
  const directory = mkdtempSync(join(quick ? quickest() : temporaryRoot, "terrace-"));
  cleanup.add(`removing ${directory}`, () => rm(directory, REMOVAL));
  return directory;
}

function quickest() {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize > ENOUGH_MEMORY ? IN_MEMORY : temporaryRoot;
  } catch {
    return temporaryRoot;
  }
}
