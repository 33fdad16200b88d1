// Runs files of JavaScript tests, each in a process of its own, and ends the processes that they leave running.
import { randomUUID } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { nodeForWrangler } from "./npm.mjs";
import { logDir, root } from "./paths.mjs";
import { killAllWith, processesWith } from "./processes.mjs";
import { CommandFailed, run } from "./run.mjs";
import { readTap, sum } from "./tally.mjs";

/** Marks the processes of a file. */
export const MARK = "TERRACE_TEST_FILE";

/** On two cores: most files use 40 to 75 % of a core, and only those with a browser more than one. */
const AT_ONCE = 3;

/** The limit of a file, in minutes: many times its usual duration, because a busy machine is slow. */
const MINUTES = 15;

/** How long processes have to end after their tests, in milliseconds. */
const GRACE_MS = 5_000;

/** Returns the test files in folders of `tests` and in their folders, by their paths from the root of the checkout. */
export async function testFiles(...folders) {
  const found = await Promise.all(
    folders.map(async (folder) => {
      const files = await readdir(join(root, "tests", folder), { recursive: true });
      return files.filter((file) => file.endsWith(".test.mjs")).map((file) => join("tests", folder, file));
    }),
  );
  return found.flat().sort();
}

/** Runs the files, and returns what `Tally.count` expects, with the `output`. */
export async function runTestFiles(paths, { env = process.env, minutes = MINUTES } = {}) {
  const waiting = [...paths];
  const results = [];
  const work = async () => {
    while (waiting.length > 0) results.push(await runFile(waiting.shift(), env, minutes));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const counts = { ...sum(results), output: results.map(({ output }) => output).join("") };
  if (counts.failed === 0) return counts;
  return { ...counts, error: new CommandFailed(results.flatMap(({ problems }) => problems).join("\n  "), counts.details, {}) };
}

async function runFile(path, { NODE_TEST_CONTEXT, ...env }, minutes) {
  const log = join(logDir, `${path.replaceAll(/[\\/]/g, "-")}.log`);
  await rm(log, { force: true });
  const mark = randomUUID();
  const args = ["--test-force-exit", "--test-reporter=tap", path];
  const { code, output } = await run(nodeForWrangler(), args, { env: { ...env, [MARK]: mark }, log, check: false, timeout: minutes * 60_000 });
  const left = await endLeftovers(mark);
  const counts = readTap(output);
  // A file without a test has no summary, and neither has one that ended early.
  const isComplete = /^# pass \d+$/m.test(output) && counts.passed + counts.failed + counts.skipped > 0;
  const problems = [
    ...(counts.failed > 0 ? [`${counts.failed} failed`] : []),
    ...(counts.failed === 0 && (code !== 0 || !isComplete) ? [`it ended with ${code} after ${counts.passed} tests`] : []),
    ...left.map(({ pid, command }) => `process ${pid} was left running, and was killed: ${command}`),
  ].map((problem) => `${path}: ${problem} (${log})`);
  return { ...counts, failed: Math.max(counts.failed, problems.length), details: problems.length > 0 ? counts.details || output : "", output, problems };
}

/** Ends the processes that a file has left running, and returns them. */
async function endLeftovers(mark) {
  for (const until = Date.now() + GRACE_MS; processesWith(MARK, mark).length > 0 && Date.now() < until; ) await sleep(100);
  const left = processesWith(MARK, mark);
  killAllWith(MARK, mark);
  return left;
}
