// Counts the results: of every test, and of every other step as one.
import { explain, say, step } from "./step.mjs";
import { CommandFailed, run } from "./run.mjs";

const none = { passed: 0, failed: 0, skipped: 0 };

export class Tally {
  #total = { ...none };

  get failed() {
    return this.#total.failed;
  }

  /** Runs a step that passes or fails as a whole; returns whether it passed. */
  check(title, work) {
    return this.attempt(() => step(title, work));
  }

  /** Runs work that reports its own progress; returns whether it passed. */
  async attempt(work) {
    try {
      await work();
      this.#total.passed += 1;
      return true;
    } catch (error) {
      explain(error);
      this.#total.failed += 1;
      return false;
    }
  }

  /** Reports a step that cannot run here. */
  skip(title, reason) {
    say(`- ${title}: skipped, ${reason}`);
    this.#total.skipped += 1;
  }

  /**
   * Runs a program with many tests. `read` receives its output and returns `{ passed, failed, skipped,
   * reasons, details }`: the reasons for skipped tests, one line each, and the output to show if some failed.
   */
  suite(title, command, args, read, options = {}) {
    return this.count(title, async (log) => {
      const { code, output } = await run(command, args, { ...options, log, check: false });
      const counts = read(output);
      if (code === 0 && counts.failed === 0 && counts.passed > 0) return counts;
      // A suite that failed without a failed test either stopped before running it, or ran none.
      const error = CommandFailed.of([command, ...args].join(" "), code, counts.details || output, log);
      return { ...counts, failed: Math.max(1, counts.failed), error };
    });
  }

  /** Runs work with many tests: it resolves with the same counts, and an `error` that explains those that failed. */
  async count(title, work) {
    let counts = { ...none, failed: 1 };
    await step(title, async (log) => {
      counts = await work(log);
      if (counts.error) throw counts.error;
    }).catch(explain);
    for (const reason of counts.reasons ?? []) say(`  skipped: ${reason}`);
    say(`  ${summary(counts)}`);
    for (const key of Object.keys(none)) this.#total[key] += counts[key];
  }

  toString() {
    return summary(this.#total);
  }
}

/** Adds up the counts of several files. */
export function sum(all) {
  const total = { ...none, reasons: all.flatMap(({ reasons }) => reasons), details: all.map(({ details }) => details).filter(Boolean).join("\n\n") };
  for (const key of Object.keys(none)) total[key] = all.reduce((count, counts) => count + counts[key], 0);
  return total;
}

const summary = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`;

/** Reads the output of `cargo test`: one result for each test program. */
export function readCargoTest(output) {
  const counts = { ...none, reasons: [], details: "" };
  for (const [, passed, failed, ignored] of output.matchAll(
    /^test result: \S+ (\d+) passed; (\d+) failed; (\d+) ignored/gm,
  )) {
    counts.passed += Number(passed);
    counts.failed += Number(failed);
    counts.skipped += Number(ignored);
  }
  for (const [, name, reason] of output.matchAll(/^test (.+?) \.\.\. ignored(?:, (.+))?$/gm)) {
    counts.reasons.push(`${name}: ${reason ?? "no reason given"}`);
  }
  counts.details = output.match(/^failures:\n[^]*?^test result: FAILED.*$/gm)?.join("\n\n") ?? "";
  return counts;
}

/** Reads the output of `node:test` with the tap reporter. */
export function readTap(output) {
  const count = (name) => Number(output.match(new RegExp(`^# ${name} (\\d+)$`, "m"))?.[1] ?? 0);
  // node's counts do not include a suite that is skipped as a whole.
  const skips = [...output.matchAll(/^\s*(?:not )?ok \d+ - (.+?) # (?:SKIP|TODO)(?: (.+))?$/gm)];
  return {
    passed: count("pass"),
    failed: count("fail") + count("cancelled"),
    skipped: skips.length,
    reasons: skips.map(([, name, reason]) => `${name}: ${reason ?? "no reason given"}`),
    details: failedTests(output),
  };
}

/** Returns the failed tests of a tap report, each with its explanation. */
function failedTests(output) {
  return [...output.matchAll(/^( *)not ok .*\n(?:\1 {2}---\n[^]*?^\1 {2}\.\.\.$)?/gm)]
    .map(([block]) => block)
    .join("\n");
}
