// Runs files of JavaScript tests, each in its own process group and with a time limit. Processes that a file
// leaves running are ended and reported.
import { randomUUID } from "node:crypto";
import { readdir, readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { Cleanup, temporaryDirectory } from "./cleanup.mjs";
import { nodeForWrangler } from "./npm.mjs";
import { logDir, root } from "./paths.mjs";
import { killAllWith, processesWith } from "./processes.mjs";
import { CommandFailed, serve } from "./run.mjs";
import { none, readTap, sum } from "./tally.mjs";
import { limits as limitsWith } from "./test-limits.mjs";

/** Marks all processes of one file, including those that leave its process group. */
export const MARK = "TERRACE_TEST_FILE";

/** The directory of the logs, one for each file. */
const LOGS = join(logDir, "tests");

/** On two cores: most files use 40 to 75 % of a core, and only those with a browser more than one. */
const AT_ONCE = 3;

/**
 * The files that take longest, the longest first: if one of them began last, it would run alone in the end. Most of them wait for
 * clients, retries or restarts.
 */
export const LONGEST = [
  "mirror/pull",
  "worker/failover",
  "admin/admin",
  "access/access",
  "worker/races",
  "pages/sign-in",
  "pages/appearance",
  "oci/oras-go",
  "oci/oci-push",
  "worker/wrangler",
  "pages/copying",
  "registry/example",
  "access/login",
  "access/trusted",
].map((name) => join("tests", "clients", `${name}.test.mjs`));

/** The files that are running. */
const running = new Set();

/** Returns the running tests, hooks and clean-ups, one line each. */
export async function testsUnderWay() {
  const lines = await Promise.all([...running].map(async (file) => (await file.underWay()).map((title) => `${file.name}: ${title}`)));
  return lines.flat();
}

/** Returns the test files in a folder of `tests` and in its folders. */
export async function testFiles(folder) {
  const files = (await readdir(join(root, "tests", folder), { recursive: true })).filter((file) => file.endsWith(".test.mjs"));
  return files.sort().map((file) => join("tests", folder, file));
}

/** Returns the files in the order in which they begin. */
export const longestFirst = (paths) => [...LONGEST.filter((path) => paths.includes(path)), ...paths.filter((path) => !LONGEST.includes(path))];

/**
 * Runs the files and returns `{ passed, failed, skipped, reasons, output, error }`; the error names the files that failed and why.
 *
 * - `env`: their environment;
 * - `logs`: the directory of their logs;
 * - `limits`: replaces some of those in test-limits.mjs.
 */
export async function runTestFiles(paths, { env = process.env, logs = LOGS, limits = {} } = {}) {
  const waiting = [...paths];
  const results = new Map();
  const cleanup = new Cleanup();
  const directory = temporaryDirectory(cleanup);
  const work = async () => {
    while (waiting.length > 0) {
      const path = waiting.shift();
      results.set(path, await new TestFile(path, { env, limits: limitsWith(limits), logs, directory }).run());
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } finally {
    await cleanup.run();
  }
  const all = paths.map((path) => results.get(path));
  const counts = { ...sum(all), output: all.map(({ output }) => output).join("") };
  if (counts.failed === 0) return counts;
  const problems = all.flatMap((result) => result.problems);
  return { ...counts, error: new CommandFailed(problems.join("\n  "), counts.details, { logFile: logs }) };
}

class TestFile {
  #path;
  #limits;
  #env;
  #mark = randomUUID();
  #notes;
  #log;

  constructor(path, { env, limits, logs, directory }) {
    this.#path = path;
    this.#limits = limits;
    this.#notes = join(directory, this.#mark);
    this.#log = join(logs, `${basename(path, ".mjs")}.log`);
    const { NODE_TEST_CONTEXT, ...inherited } = env;
    this.#env = { ...inherited, [MARK]: this.#mark, TERRACE_TEST_NOTES: this.#notes, TERRACE_TEST_LIMITS: JSON.stringify(limits) };
  }

  get name() {
    return basename(this.#path);
  }

  async run() {
    await rm(this.#log, { force: true });
    running.add(this);
    try {
      const process = await serve(nodeForWrangler(), ["--test-reporter=tap", "--test-force-exit", this.#path], { env: this.#env, log: this.#log });
      const code = await Promise.race([process.ended, sleep(this.#limits.file, "late", { ref: false })]);
      const problems = code === "late" ? await this.#late() : [];
      await process.stop();
      problems.push(...(await this.#endLeftovers()), ...(await this.#failures()));
      await Promise.race([process.logged, sleep(this.#limits.grace, undefined, { ref: false })]);
      return await this.#result(await process.ended, problems);
    } finally {
      running.delete(this);
    }
  }

  /** Returns the titles of tests, hooks and clean-ups that have started and not ended. */
  async underWay() {
    const open = new Map();
    for (const { id, begun, ended } of await this.#noted()) {
      if (begun) open.set(id, begun);
      if (ended) open.delete(id);
    }
    return open.size > 0 ? [...open.values()] : ["no test"];
  }

  async #late() {
    const titles = await this.underWay();
    return [`did not end within ${this.#limits.file / 1000} s, and was stopped. Under way: ${titles.join("; ")}`];
  }

  /** Ends the processes that the file has left running. Processes that are about to end get a moment to do so. */
  async #endLeftovers() {
    const until = Date.now() + this.#limits.grace;
    let left = processesWith(MARK, this.#mark);
    while (left.length > 0 && Date.now() < until) {
      await sleep(100);
      left = processesWith(MARK, this.#mark);
    }
    killAllWith(MARK, this.#mark);
    return left.map(({ pid, command }) => `left process ${pid} running, which was killed: ${command}`);
  }

  async #failures() {
    return (await this.#noted()).flatMap(({ failed }) => failed ?? []);
  }

  async #noted() {
    const text = await readFile(this.#notes, "utf8").catch(() => "");
    return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
  }

  async #result(code, problems) {
    const output = await readFile(this.#log, "utf8");
    const counts = readTap(output);
    const isBad = code !== 0 || problems.length > 0 || counts.passed + counts.skipped === 0;
    // A file that fails without a failed test stopped before it could run one.
    const failed = isBad ? Math.max(1, counts.failed) : counts.failed;
    if (failed === 0) return { ...counts, output, problems: [] };
    const said = [`${failed} failed (${this.#log})`, ...problems].map((problem) => `${this.name}: ${problem}`);
    return { ...counts, failed, output, problems: said, details: counts.details || output };
  }
}
