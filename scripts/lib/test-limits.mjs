// The time limits after which tests count as hung: many times their usual duration, because a busy machine is
// slow. `npm test` runs test files in their own processes, which inherit the limits through the environment.

/**
 * In milliseconds: the limits of one test, of a hook before tests, of each action at the end of a test or a
 * suite, of a whole file, and the time for its processes to end after it.
 */
const DEFAULTS = { test: 10 * 60_000, hook: 12 * 60_000, cleanup: 60_000, file: 25 * 60_000, grace: 10_000 };

export const LIMITS = limits(JSON.parse(process.env.TERRACE_TEST_LIMITS ?? "{}"));

/** Returns the limits, some of them replaced. */
export function limits(others) {
  return { ...DEFAULTS, ...others };
}

/**
 * The file to which a test file writes its progress, one JSON object per line: `{ id, begun }`, `{ id, ended
 * }`, `{ failed }`.
 */
export const NOTES_FILE = process.env.TERRACE_TEST_NOTES;
