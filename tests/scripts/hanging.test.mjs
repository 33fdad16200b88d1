// Tests, hooks and servers that do not end: `npm test` stops each of them in time, reports it, and leaves no
// process running.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { temporaryDirectory } from "../../scripts/lib/cleanup.mjs";
import { waitWhileAtWork } from "../../scripts/lib/patience.mjs";
import { processesWith } from "../../scripts/lib/processes.mjs";
import { run, serve } from "../../scripts/lib/run.mjs";
import { runTestFiles } from "../../scripts/lib/test-files.mjs";
import { cleanupOf, describe, test } from "../clients/support/testing.mjs";

/**
 * A server that ignores SIGTERM is killed after 5 s, and the removal of a directory that it writes to is
 * given up after the same time.
 */
const LIMITS = { test: 2_000, hook: 2_000, cleanup: 8_000, file: 20_000, grace: 500 };

const isLinux = process.platform === "linux";
const MARK = "TERRACE_TEST_OF_HANGING";
const hanging = (name) => join(import.meta.dirname, "hanging", name);

/** Runs one of the broken files. Fails if it takes longer than `seconds`, or leaves a process running. */
async function runs(t, name, { limits = LIMITS, seconds }) {
  const mark = randomUUID();
  const env = { ...process.env, [MARK]: mark, TMPDIR: temporaryDirectory(cleanupOf(t)) };
  const began = performance.now();
  const result = await runTestFiles([hanging(name)], { env, limits });
  const took = (performance.now() - began) / 1000;
  assert.deepEqual(processesWith(MARK, mark), []);
  assert.ok(took < seconds, `${name} took ${took} s`);
  return { ...result, report: `${result.error?.message}\n${result.details}` };
}

describe("a file of tests", { concurrency: true }, () => {
  test("is stopped when the end of a suite never ends", async (t) => {
    const { failed, report, output } = await runs(t, "stop-never-ends.mjs", { limits: { ...LIMITS, cleanup: 1_000 }, seconds: 15 });
    assert.equal(failed, 1);
    assert.match(report, /stop-never-ends\.mjs: end of the file: hook "stop that never ends" did not end within 1 s/);
    assert.match(output, /the hook before it has run/);
  });

  test("runs the other actions at the end of a suite when one of them fails", async (t) => {
    const { failed, report, output } = await runs(t, "removal-fails.mjs", { seconds: 25 });
    assert.equal(failed, 1);
    assert.match(report, /removal-fails\.mjs: end of a suite: removing a directory failed: ENOTDIR/);
    assert.match(output, /the first action has run/);
  });

  test("reports a hook that hangs, and stops the server that the hook started", async (t) => {
    const { failed, report } = await runs(t, "before-hangs.mjs", { seconds: 25 });
    assert.equal(failed, 1);
    assert.match(report, /hook "starting the registry" of a suite did not end within 2 s/);
  });

  test("continues after a test that never ends, and stops its server before it removes the directory", async (t) => {
    const { passed, failed, report } = await runs(t, "test-never-ends.mjs", { seconds: 25 });
    assert.deepEqual({ passed, failed }, { passed: 1, failed: 1 });
    assert.match(report, /a test never ends/);
    assert.match(report, /test timed out after 2000ms/);
    assert.doesNotMatch(report, /removing/);
  });

  test("is stopped when a test blocks it, and reports the test", async (t) => {
    const { failed, report } = await runs(t, "test-blocks.mjs", { limits: { ...LIMITS, file: 8_000 }, seconds: 30 });
    assert.equal(failed, 1);
    assert.match(report, /test-blocks\.mjs: did not end within 8 s, and was stopped. Under way: test "a suite > a test blocks the process"/);
  });

  test("fails when it leaves a server running, which is killed", { skip: !isLinux && "processes can be found only on Linux" }, async (t) => {
    const { passed, failed, report } = await runs(t, "server-is-left.mjs", { seconds: 25 });
    assert.deepEqual({ passed, failed }, { passed: 1, failed: 1 });
    assert.match(report, /server-is-left\.mjs: left process \d+ running, which was killed: .*stubborn-server\.mjs/);
  });

  test("reports a failure at the end of a test that has already failed", async (t) => {
    const { failed, report } = await runs(t, "fails-while-cleaning.mjs", { seconds: 15 });
    assert.equal(failed, 1);
    assert.match(report, /the test fails/);
    assert.match(report, /a t\.after of the test failed: the end fails/);
  });
});

test("a whole run that does not end is stopped, and reports the steps and tests under way", async (t) => {
  const [mark, directory] = [randomUUID(), temporaryDirectory(cleanupOf(t))];
  const { TERRACE_RUN, TERRACE_RUN_ENDS, ...inherited } = process.env;
  const env = { ...inherited, [MARK]: mark, DIRECTORY: join(directory, "written"), TMPDIR: directory };
  const { code, output } = await run(process.execPath, [hanging("whole-run.mjs"), "0.15"], { env, check: false, timeout: 60_000 });
  assert.equal(code, 1, output);
  assert.match(output, /the run did not end within 0\.15 minutes and was stopped\. It was waiting for:\n/);
  assert.match(output, /^ {2}a program that never ends, for \d/m);
  assert.match(output, /^ {2}tests that never end, for \d/m);
  assert.match(output, /^ {2}test-never-ends\.mjs: test "a test never ends"/m);
  assert.deepEqual(processesWith(MARK, mark), []);
  assert.ok(existsSync(join(directory, "written", "ready")));
});

describe("a starting server", { concurrency: true }, () => {
  const TIMES = { idle: 1_500, most: 30_000, say: 500, look: 100 };

  /** Waits for a Node program with this source, which is ready when it has written "ready". */
  async function waitsFor(t, program, times = TIMES) {
    const logFile = join(temporaryDirectory(cleanupOf(t)), "log");
    const { child, ended, stop } = await serve(process.execPath, ["--eval", program], { log: logFile });
    t.after(stop);
    const said = [];
    const ready = async (signal) => {
      while (!signal.aborted && !/^ready$/m.test(await readFile(logFile, "utf8").catch(() => ""))) await new Promise((done) => setTimeout(done, 50));
    };
    const waited = waitWhileAtWork({ title: "the program", ready, group: child.pid, ended, logFile, say: (line) => said.push(line), times });
    return { said, failure: await waited.then(() => null, (error) => error.message) };
  }

  const busyFor = (ms) => `for (const until = Date.now() + ${ms}; Date.now() < until; );`;

  test("is given time while it uses CPU", async (t) => {
    const { said, failure } = await waitsFor(t, `${busyFor(3_000)} console.log("ready"); setInterval(() => {}, 1000)`);
    assert.equal(failure, null);
    assert.match(said.at(-1), /^the program is not ready after \d+ s; it has used \d+\.\d s of CPU\. Waiting while it is at work, for at most 30 s$/);
  });

  test("is given time while it writes to its log", async (t) => {
    const { failure } = await waitsFor(t, 'let n = 0; setInterval(() => console.log(++n > 9 ? "ready" : n), 300)');
    assert.equal(failure, null);
  });

  test("is given up when it makes no progress", { skip: !isLinux && "CPU time per process can be measured only on Linux" }, async (t) => {
    const { failure } = await waitsFor(t, "setInterval(() => {}, 1000)");
    assert.match(failure, /^the program was not ready after \d+ s, and made no progress in the last 2 s; it has used/);
  });

  test("is given up after the maximum wait", async (t) => {
    const { failure } = await waitsFor(t, busyFor(60_000), { ...TIMES, most: 4_000 });
    assert.match(failure, /^the program was not ready after \d+ s, the maximum wait; it has used/);
  });

  test("is given up immediately when it ends", async (t) => {
    const { failure } = await waitsFor(t, "process.exit(7)");
    assert.equal(failure, "the program ended with exit code 7 before it was ready");
  });
});
