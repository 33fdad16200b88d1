// Tests, hooks and servers that do not end: `npm test` ends each of them in time, names it, and leaves no process.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { temporaryDirectory } from "../../scripts/lib/cleanup.mjs";
import { processesWith } from "../../scripts/lib/processes.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { runTestFiles } from "../../scripts/lib/test-files.mjs";
import { cleanupOf, describe, test } from "../clients/support/testing.mjs";

/** A server that ignores SIGTERM is killed after 5 s, and a directory into which one writes is given up after as long. */
const LIMITS = { test: 2_000, hook: 2_000, cleanup: 8_000, file: 20_000, grace: 500 };

const isLinux = process.platform === "linux";
const MARK = "TERRACE_TEST_OF_HANGING";
const hanging = (name) => join(import.meta.dirname, "hanging", name);

/** Runs one of the broken files. Fails if it takes longer than `seconds`, or leaves a process. */
async function runs(name, { limits = LIMITS, seconds }) {
  const mark = randomUUID();
  const began = performance.now();
  const result = await runTestFiles([hanging(name)], { env: { ...process.env, [MARK]: mark }, limits });
  const took = (performance.now() - began) / 1000;
  assert.deepEqual(processesWith(MARK, mark), []);
  assert.ok(took < seconds, `${name} took ${took} s`);
  return { ...result, report: `${result.error?.message}\n${result.details}` };
}

describe("a file of tests", { concurrency: true }, () => {
  test("is ended when the end of a suite never ends", async () => {
    const { failed, report, output } = await runs("stop-never-ends.mjs", { limits: { ...LIMITS, cleanup: 1_000 }, seconds: 15 });
    assert.equal(failed, 1);
    assert.match(report, /stop-never-ends\.mjs: end of the file: hook "stop that never ends" did not end within 1 s/);
    assert.match(output, /the hook before it has run/);
  });

  test("takes the other actions at the end of a suite when one of them fails", async () => {
    const { failed, report, output } = await runs("removal-fails.mjs", { seconds: 25 });
    assert.equal(failed, 1);
    assert.match(report, /removal-fails\.mjs: end of a suite: removing a directory failed: ENOTDIR/);
    assert.match(output, /what came first has been stopped/);
  });

  test("reports a hook that hangs, and stops the server that the hook has started", async () => {
    const { failed, report } = await runs("before-hangs.mjs", { seconds: 25 });
    assert.equal(failed, 1);
    assert.match(report, /hook "starting the registry" of a suite did not end within 2 s/);
  });

  test("goes on after a test that never ends, and stops its server before it removes the directory", async () => {
    const { passed, failed, report } = await runs("test-never-ends.mjs", { seconds: 25 });
    assert.deepEqual({ passed, failed }, { passed: 1, failed: 1 });
    assert.match(report, /a test never ends/);
    assert.match(report, /test timed out after 2000ms/);
    assert.doesNotMatch(report, /removing/);
  });

  test("is ended when a test blocks it, and the test is named", async () => {
    const { failed, report } = await runs("test-blocks.mjs", { limits: { ...LIMITS, file: 8_000 }, seconds: 30 });
    assert.equal(failed, 1);
    assert.match(report, /test-blocks\.mjs: did not end within 8 s, and was ended. Under way: test "a suite > a test blocks the process"/);
  });

  test("fails when it leaves a server behind, which is ended", { skip: !isLinux && "processes are found on Linux only" }, async () => {
    const { passed, failed, report } = await runs("server-is-left.mjs", { seconds: 25 });
    assert.deepEqual({ passed, failed }, { passed: 1, failed: 1 });
    assert.match(report, /server-is-left\.mjs: left process \d+ behind, which was ended: .*stubborn-server\.mjs/);
  });

  test("reports a failure at the end of a test that has failed itself", async () => {
    const { failed, report } = await runs("fails-while-cleaning.mjs", { seconds: 15 });
    assert.equal(failed, 1);
    assert.match(report, /the test fails/);
    assert.match(report, /a t\.after of the test failed: the end fails/);
  });
});

test("a whole run that does not end is ended, and the steps and tests under way are named", async (t) => {
  const [mark, directory] = [randomUUID(), temporaryDirectory(cleanupOf(t))];
  const { TERRACE_RUN, TERRACE_RUN_ENDS, ...inherited } = process.env;
  const env = { ...inherited, [MARK]: mark, DIRECTORY: directory };
  const { code, output } = await run(process.execPath, [hanging("whole-run.mjs"), "0.15"], { env, check: false, timeout: 60_000 });
  assert.equal(code, 1, output);
  assert.match(output, /the run did not end within 0\.15 minutes, and is ended\. It was waiting for:\n/);
  assert.match(output, /^ {2}a program that never ends, for \d/m);
  assert.match(output, /^ {2}tests that never end, for \d/m);
  assert.match(output, /^ {2}test-never-ends\.mjs: test "a test never ends"/m);
  assert.deepEqual(processesWith(MARK, mark), []);
  assert.ok(existsSync(join(directory, "ready")));
});
