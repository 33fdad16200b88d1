// Cleaning up after a script or a test: servers are stopped first, and then the directories that they wrote into are removed.
import { mkdtempSync, statfsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Enough for a server that ignores SIGTERM, and for the removal of a large directory on a busy machine. */
const LIMIT_MS = 60_000;

/** A directory that a process which was just killed still writes into is not empty at the first attempt. */
const REMOVAL = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };

const IN_MEMORY = "/dev/shm";
const ENOUGH_MEMORY = 256 * 1024 * 1024;

/** An action that did not end within its limit. It is not waited for any longer. */
export class TimedOut extends Error {
  constructor(title, ms) {
    super(`${title} did not end within ${ms / 1000} s`);
  }
}

/**
 * Actions to take at the end, last in, first out: a server was started after its directory was made, and stops before the
 * directory is removed. A failed action, or one that does not end within its limit, keeps no other from being taken.
 */
export class Cleanup {
  #limit;
  #actions = [];
  #isOver = false;

  constructor(limit = LIMIT_MS) {
    this.#limit = limit;
  }

  /**
   * Adds an action. The title, such as "stopping the server", stands in the report if the action fails. After `run`, when
   * work that was given up goes on and starts a server, the action is taken at once.
   */
  add(title, action) {
    if (this.#isOver) within(this.#limit, title, action).catch((error) => console.error(failure(title, error).message));
    else this.#actions.push({ title, action });
  }

  /** Takes all actions, once. Rejects at the end, naming those that failed. */
  async run() {
    this.#isOver = true;
    const failures = [];
    while (this.#actions.length > 0) {
      const { title, action } = this.#actions.pop();
      await within(this.#limit, title, action).catch((error) => failures.push(failure(title, error)));
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join("\n"));
  }
}

const failure = (title, error) => (error instanceof TimedOut ? error : new Error(`${title} failed: ${error.message}`, { cause: error }));

/** Does `work`, and rejects with `TimedOut` when that takes longer than `ms`. */
export async function within(ms, title, work) {
  let timer;
  const late = new Promise((_, failed) => {
    timer = setTimeout(() => failed(new TimedOut(title, ms)), ms);
  });
  try {
    return await Promise.race([(async () => work())(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Makes a new directory, which `cleanup` removes.
 *
 * - `quick`: for thousands of small writes, each of which would wait for a disk.
 */
export function temporaryDirectory(cleanup, { quick = false } = {}) {
  const directory = mkdtempSync(join(quick ? quickest() : tmpdir(), "terrace-"));
  cleanup.add(`removing ${directory}`, () => rm(directory, REMOVAL));
  return directory;
}

function quickest() {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize > ENOUGH_MEMORY ? IN_MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
