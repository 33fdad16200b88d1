// node:test with time limits and clean-up: no test and no hook waits forever, and the actions at their end run in the right
// order, whatever fails. Test files import `describe`, `test`, `before` and `after` from here.
import * as nodeTest from "node:test";

import { Cleanup, within } from "../../../scripts/lib/cleanup.mjs";

/** In milliseconds, the limits of a test and of a hook: many times their usual duration, because a busy machine is slow. */
const TEST_MS = 10 * 60_000;
const HOOK_MS = 12 * 60_000;

/** The clean-ups of the suites that are being defined, the innermost last. The first is that of the file itself. */
const suites = [{ name: "the file", cleanup: null }];

/** The clean-ups of the running tests, by their contexts. */
const ofTests = new WeakMap();

let isRunning = false;

/** Like node:test's, for suites that are defined synchronously. */
export function describe(name, ...rest) {
  const define = rest.pop();
  nodeTest.describe(name, ...rest, () => {
    suites.push({ name, cleanup: null });
    try {
      define();
    } finally {
      suites.pop();
    }
  });
}

/** Like node:test's; `t.after` equals `cleanupOf(t).add`. */
export function test(name, ...rest) {
  const work = rest.pop();
  const [options = {}] = rest;
  nodeTest.test(name, { timeout: TEST_MS, ...options }, async (t) => {
    isRunning = true;
    const cleanup = new Cleanup();
    t.after(() => cleansUp(`test "${t.fullName}"`, cleanup));
    t.after = (action) => cleanup.add("a t.after of the test", action);
    ofTests.set(t, cleanup);
    await work(t);
  });
}

/** Like node:test's, for the suite that is being defined. The title names the hook in reports. */
export function before(work, title = "before") {
  const hook = `hook "${title}" of ${suites.at(-1).name}`;
  nodeTest.before(() => {
    isRunning = true;
    return within(HOOK_MS, hook, work);
  });
}

/** Adds an action for the end of the suite that is being defined; they run last in, first out. */
export const after = (action, title = "after") => cleanupOfSuite().add(`hook "${title}"`, action);

/** Returns the actions at the end of the test `t`, or else of the suite that is being defined. */
export function cleanupOf(t) {
  if (t === undefined) return cleanupOfSuite();
  const cleanup = ofTests.get(t);
  if (!cleanup) throw new Error("this test was not defined with support/testing.mjs");
  return cleanup;
}

/** When one hook of a suite fails, Node skips the others; so each suite has only one. */
function cleanupOfSuite() {
  if (isRunning) throw new Error("tests are running, so no suite is being defined: pass the test's own context, `t`");
  const suite = suites.at(-1);
  if (suite.cleanup === null) {
    const cleanup = (suite.cleanup = new Cleanup());
    nodeTest.after(() => cleansUp(suite.name, cleanup));
  }
  return suite.cleanup;
}

/** Node does not report a failed hook after a failed test, so the failure is printed as well. */
async function cleansUp(whose, cleanup) {
  try {
    await cleanup.run();
  } catch (error) {
    console.error(`end of ${whose}: ${error.message}`);
    process.exitCode = 1;
    throw error;
  }
}
