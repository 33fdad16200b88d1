// Runs tests and counts them: those of cargo, files of JavaScript, and every other step as one.
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { nodeForWrangler } from "./npm.mjs";
import { root } from "./paths.mjs";
import { CommandFailed, run } from "./run.mjs";
import { explain, say, step } from "./step.mjs";

/** On two cores: most files use 40 to 75 % of a core, and only those with a browser more than one. */
const AT_ONCE = 3;

/** The limit of a file, in minutes: many times its usual duration, because a busy machine is slow. */
const MINUTES = 15;

export class Tally {
  #total = { passed: 0, failed: 0, skipped: 0 };

  get failed() {
    return this.#total.failed;
  }

  /** Runs a step that passes or fails as a whole; returns whether it passed. */
  check(title, work) {
    return this.attempt(() => step(title, work));
  }

  /** Runs work that reports its own progress; returns whether it passed. */
  async attempt(work) {
    const error = await work().then(() => null, (reason) => reason);
    if (error) explain(error);
    this.#total[error ? "failed" : "passed"] += 1;
    return !error;
  }

  /** Reports a step that cannot run here. */
  skip(title, reason) {
    say(`- ${title}: skipped, ${reason}`);
    this.#total.skipped += 1;
  }

  /** Runs many tests, by one of the functions below. Returns their output. */
  async tests(title, work) {
    let counts = { passed: 0, failed: 1, skipped: 0, notes: [], output: "" };
    await step(title, async (log) => {
      counts = await work(log);
      if (counts.failed > 0) throw new CommandFailed(`${counts.failed} failed`, counts.failures || counts.output, { logFile: log });
    }).catch(explain);
    for (const note of counts.notes) say(`  skipped: ${note}`);
    say(`  ${summary(counts)}`);
    for (const key of Object.keys(this.#total)) this.#total[key] += counts[key];
    return counts.output;
  }

  toString() {
    return summary(this.#total);
  }
}

const summary = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`;

/** Returns `counts` of a program that has ended. One that stopped before a failed test, or ran none, counts as a failure. */
const whole = (counts, { code, output }) => ({ ...counts, output, failed: Math.max(counts.failed, code === 0 && counts.passed > 0 ? 0 : 1) });

/** Runs `cargo test`, and counts its tests: one result for each test program. */
export async function cargoTests(log, args, options = {}) {
  const ended = await run("cargo", ["test", ...args], { ...options, log, check: false });
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const [, passed, failed, ignored] of ended.output.matchAll(/^test result: \S+ (\d+) passed; (\d+) failed; (\d+) ignored/gm)) {
    counts.passed += Number(passed);
    counts.failed += Number(failed);
    counts.skipped += Number(ignored);
  }
  const notes = Array.from(ended.output.matchAll(/^test (.+?) \.\.\. ignored(?:, (.+))?$/gm), ([, name, reason]) => `${name}: ${reason ?? "no reason given"}`);
  const failures = ended.output.match(/^failures:\n[^]*?^test result: FAILED.*$/gm)?.join("\n\n");
  return whole({ ...counts, notes, failures }, ended);
}

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

/** Runs files of tests, each in a process of its own, with further variables, and counts their tests. */
export async function nodeTests(log, files, { variables = {}, minutes = MINUTES } = {}) {
  const { NODE_TEST_CONTEXT, ...env } = { ...process.env, ...variables };
  const reporter = new URL("reporter.mjs", import.meta.url).href;
  const args = ["--test", "--test-force-exit", `--test-concurrency=${AT_ONCE}`, `--test-timeout=${minutes * 60_000}`, `--test-reporter=${reporter}`];
  const ended = await run(nodeForWrangler(), [...args, ...files], { env, log, check: false });
  const last = ended.stdout.trimEnd().split("\n").at(-1);
  const counts = last.startsWith("{") ? JSON.parse(last) : { passed: 0, failed: 0, skipped: 0 };
  const notes = Array.from(ended.stdout.matchAll(/^skipped: (.+)$/gm), ([, note]) => note);
  const failures = ended.stdout.match(/^failed: .*(?:\n {4}.*)*/gm)?.join("\n");
  return whole({ ...counts, notes, failures }, ended);
}

/** Runs files of tests as all that a script does. Returns their output. */
export async function runFiles(title, files, options) {
  const tally = new Tally();
  const output = await tally.tests(title, (log) => nodeTests(log, files, options));
  if (tally.failed > 0) process.exitCode = 1;
  return output;
}
