// node:test with time limits: no test and no hook waits forever, and all actions at their end run in the
// right order, whatever fails. Test files import `describe`, `test`, `before` and `after` from here.
import { appendFileSync } from "node:fs";
import * as nodeTest from "node:test";

import { Cleanup, within } from "../../../scripts/lib/cleanup.mjs";
import { LIMITS, NOTES_FILE } from "../../../scripts/lib/test-limits.mjs";

/** The names and clean-ups of the suites that are being defined, the innermost last. The first is the file itself. */
const suites = [{ name: "the file", cleanup: null }];

/** The clean-ups of the running tests, by their contexts. */
const ofTests = new WeakMap();

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
  nodeTest.test(name, { timeout: LIMITS.test, ...options }, async (t) => {
    const title = `test "${t.fullName}"`;
    const cleanup = new Cleanup(LIMITS.cleanup);
    t.after(() => cleansUp(title, cleanup));
    t.after = (action) => cleanup.add("a t.after of the test", action);
    ofTests.set(t, cleanup);
    await noted(title, () => work(t));
  });
}

/** Like node:test's, for the suite that is being defined. The title names the hook in reports. */
export function before(work, title = "before") {
  const hook = `hook "${title}" of ${suites.at(-1).name}`;
  nodeTest.before(() => noted(hook, () => within(LIMITS.hook, hook, work)));
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
    const cleanup = (suite.cleanup = new Cleanup(LIMITS.cleanup));
    nodeTest.after(() => cleansUp(suite.name, cleanup));
  }
  return suite.cleanup;
}

/** Node does not report a failed hook after a failed test; so the failure is also recorded and printed. */
async function cleansUp(whose, cleanup) {
  const title = `end of ${whose}`;
  try {
    await noted(title, () => cleanup.run());
  } catch (error) {
    note({ failed: `${title}: ${error.message}` });
    console.error(`${title}: ${error.message}`);
    process.exitCode = 1;
    throw error;
  }
}

let last = 0;
let isRunning = false;

/** Runs `work`, and records its start and its end. */
async function noted(title, work) {
  isRunning = true;
  const id = (last += 1);
  note({ id, begun: title });
  try {
    return await work();
  } finally {
    note({ id, ended: true });
  }
}

/** Synchronous, so that the record is written even if this process never yields again. */
function note(entry) {
  if (NOTES_FILE) appendFileSync(NOTES_FILE, `${JSON.stringify(entry)}\n`);
}
