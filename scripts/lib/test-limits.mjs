// The time after which tests count as hung: many times their usual duration, since a busy machine is slow. `npm test` runs
// files of tests in processes of their own, which inherit the limits by their environment.

/**
 * In milliseconds: one test, a hook before tests, each action at the end of a test or a suite, a whole file, and the time
 * for its processes to end after it.
 */
const DEFAULTS = { test: 10 * 60_000, hook: 12 * 60_000, cleanup: 60_000, file: 25 * 60_000, grace: 10_000 };

export const LIMITS = limits(JSON.parse(process.env.TERRACE_TEST_LIMITS ?? "{}"));

/** The limits, some of them replaced. */
export function limits(others) {
  return { ...DEFAULTS, ...others };
}

/** The file that a test file notes its progress in, one JSON object per line: `{ id, begun }`, `{ id, ended }`, `{ failed }`. */
export const NOTES_FILE = process.env.TERRACE_TEST_NOTES;
