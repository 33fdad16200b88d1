// Counting what passed: every test, and every other step as one.
import { explain, say, step } from "./step.mjs";
import { CommandFailed, run } from "./run.mjs";

export const none = { passed: 0, failed: 0, skipped: 0 };

export class Tally {
  #total = { ...none };

  get failed() {
    return this.#total.failed;
  }

  /** A step that passes or fails as a whole; returns whether it passed. */
  check(title, work) {
    return this.attempt(() => step(title, work));
  }

  /** The same for work that says by itself what it does. */
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

  /** Something that cannot be done here. */
  skip(title, reason) {
    say(`- ${title}: skipped, ${reason}`);
    this.#total.skipped += 1;
  }

  /**
   * A program that runs many tests. `read` gets what it printed and returns `{ passed, failed, skipped, reasons, details }`:
   * why tests were skipped, one line each, and what to show when some failed.
   */
  suite(title, command, args, read, options = {}) {
    return this.count(title, async (log) => {
      const { code, output } = await run(command, args, { ...options, log, check: false });
      const counts = read(output);
      if (code === 0 && counts.failed === 0 && counts.passed > 0) return counts;
      // A suite that failed without a failed test did not get as far as running it, or ran none.
      const error = CommandFailed.of([command, ...args].join(" "), code, counts.details || output, log);
      return { ...counts, failed: Math.max(1, counts.failed), error };
    });
  }

  /** Work that runs many tests: it resolves with the same counts, and an `error` that explains those that failed. */
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

/** The counts of several programs as those of one. */
export function sum(all) {
  const total = { ...none, reasons: [], details: all.map(({ details }) => details).filter(Boolean).join("\n\n") };
  for (const counts of all) {
    for (const key of Object.keys(none)) total[key] += counts[key];
    total.reasons.push(...counts.reasons);
  }
  return total;
}

const summary = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`;

/** Reads what `cargo test` prints: one result for each test program. */
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

/** Reads what tests of `node:test` print with the tap reporter. */
export function readTap(output) {
  const count = (name) => Number(output.match(new RegExp(`^# ${name} (\\d+)$`, "m"))?.[1] ?? 0);
  // A suite that is skipped as a whole is in none of node's counts.
  const skips = [...output.matchAll(/^\s*(?:not )?ok \d+ - (.+?) # (?:SKIP|TODO)(?: (.+))?$/gm)];
  return {
    passed: count("pass"),
    failed: count("fail") + count("cancelled"),
    skipped: skips.length,
    reasons: skips.map(([, name, reason]) => `${name}: ${reason ?? "no reason given"}`),
    details: failedTests(output),
  };
}

/** The failed tests of a tap report, each with the block that explains it. */
function failedTests(output) {
  return [...output.matchAll(/^( *)not ok .*\n(?:\1 {2}---\n[^]*?^\1 {2}\.\.\.$)?/gm)]
    .map(([block]) => block)
    .join("\n");
}
