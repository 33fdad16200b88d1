// Reports long steps with their titles and durations.
import { rm } from "node:fs/promises";
import { join } from "node:path";

import { logDir } from "./paths.mjs";

export const say = (line) => console.log(line);

/** In milliseconds: how often a running step is reported. */
const REPORT_MS = 60_000;

/** The running steps, and their start times. */
const running = new Map();

/** The steps that have ended, and their durations in milliseconds. */
const finished = [];

/**
 * Runs one long piece of work: `work` receives the name of a log file for the programs that it runs. On
 * failure, the end of the failed program's output is shown.
 */
export async function step(title, work) {
  const log = join(logDir, `${title.replaceAll(/[^a-z0-9.]+/gi, "-").toLowerCase()}.log`);
  await rm(log, { force: true });
  const started = performance.now();
  say(`→ ${title} …`);
  running.set(title, started);
  const ticker = setInterval(() => say(`  still ${title}, for ${seconds(started)}`), REPORT_MS).unref();
  try {
    const result = await work(log);
    say(`✓ ${title} … ${seconds(started)}`);
    return result;
  } catch (error) {
    say(`✗ ${title} … ${seconds(started)}`);
    explain(error);
    throw error;
  } finally {
    clearInterval(ticker);
    running.delete(title);
    finished.push({ title, took: performance.now() - started });
  }
}

/** Returns the slowest steps that have ended, one line each. */
export const slowest = (count) =>
  finished
    .toSorted((a, b) => b.took - a.took)
    .slice(0, count)
    .map(({ title, took }) => `${String(Math.round(took / 1000)).padStart(5)} s  ${title}`);

/** Returns the steps under way, one line each. */
export const stepsUnderWay = () => [...running].map(([title, started]) => `${title}, for ${seconds(started)}`);

const SHOWN_LINES = 40;

/** Prints the reason why a step failed, once. */
export function explain(error) {
  if (error.explained) return;
  error.explained = true;
  const lines = error.output?.trimEnd().split("\n") ?? [];
  for (const line of lines.slice(-SHOWN_LINES)) say(`  │ ${line}`);
  say(`  ${error.message}`);
  if (error.logFile) say(`  All of its output: ${error.logFile}`);
}

/** Runs a script's `main`, and turns a failure into an explanation and exit code 1. */
export async function main(work) {
  try {
    await work();
  } catch (error) {
    explain(error);
    process.exitCode = 1;
  }
}

function seconds(started) {
  const passed = (performance.now() - started) / 1000;
  return passed < 10 ? `${passed.toFixed(1)} s` : `${Math.round(passed)} s`;
}
