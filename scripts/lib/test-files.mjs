// Runs files of JavaScript tests by `node --test`, and ends the processes that they leave running.
import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { nodeForWrangler } from "./npm.mjs";
import { root } from "./paths.mjs";
import { killAllWith, processesWith } from "./processes.mjs";
import { CommandFailed, run } from "./run.mjs";
import { readTap } from "./tally.mjs";

/** Marks the processes of a run. */
export const MARK = "TERRACE_TEST_RUN";

/** On two cores: most files use 40 to 75 % of a core, and only those with a browser more than one. */
const AT_ONCE = 3;

/** The limit of a file, in minutes: many times its usual duration, because a busy machine is slow. */
const MINUTES = 15;

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
export async function runTestFiles(paths, { env = process.env, log, minutes = MINUTES } = {}) {
  const { NODE_TEST_CONTEXT, ...inherited } = env;
  const mark = randomUUID();
  const options = [`--test-concurrency=${AT_ONCE}`, `--test-timeout=${minutes * 60_000}`, "--test-force-exit", "--test-reporter=tap"];
  const args = ["--test", ...options, ...paths];
  const { code, output } = await run(nodeForWrangler(), args, { env: { ...inherited, [MARK]: mark }, log, check: false });
  const problems = [...emptyFiles(paths, output), ...(await endLeftovers(mark))];
  const counts = { ...readTap(output), output };
  const failed = counts.failed + problems.length;
  if (code === 0 && failed === 0) return counts;
  const details = [counts.details || output, ...problems].join("\n");
  return { ...counts, failed: Math.max(1, failed), error: new CommandFailed(`${paths.length} test files ended with ${code}`, details, { logFile: log }) };
}

/** Node counts a file without a test as one test with the name of the file. */
function emptyFiles(paths, output) {
  const passed = [...output.matchAll(/^ok \d+ - (.+)$/gm)].map(([, name]) => name);
  return paths.filter((path) => passed.some((name) => name.endsWith(path))).map((path) => `${path} has no test`);
}

/** How long processes have to end after their tests, in milliseconds. */
const GRACE_MS = 5_000;

/** Ends the processes that tests have left running, and returns a line for each. */
async function endLeftovers(mark) {
  for (const until = Date.now() + GRACE_MS; processesWith(MARK, mark).length > 0 && Date.now() < until; ) await sleep(100);
  const left = processesWith(MARK, mark);
  killAllWith(MARK, mark);
  return left.map(({ pid, command }) => `process ${pid} was left running, and was killed: ${command}`);
}
