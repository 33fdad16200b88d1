// Reports long steps with their titles and durations.
import { rm } from "node:fs/promises";
import { join } from "node:path";

import { logDir } from "./paths.mjs";
import { CommandFailed } from "./run.mjs";

export function say(line) {
  hideProgress();
  console.log(line);
}

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
  showProgress();
  try {
    const result = await work(log);
    ended(title, started);
    say(`✓ ${title} … ${seconds(started)}`);
    return result;
  } catch (error) {
    ended(title, started);
    say(`✗ ${title} … ${seconds(started)}`);
    explain(error);
    throw error;
  }
}

/** In milliseconds: how often elapsed times are shown on a terminal, and elsewhere. */
const REDRAW_MS = 1_000;
const REPORT_MS = 60_000;

/** The running steps, and their start times. On a terminal, a last line counts their seconds; elsewhere, a line a minute. */
const running = new Map();
let ticker;

/** The steps that have ended, and their durations in milliseconds. */
const finished = [];

/** Returns the slowest steps that have ended, one line each. */
export const slowest = (count) =>
  finished
    .toSorted((a, b) => b.took - a.took)
    .slice(0, count)
    .map(({ title, took }) => `${String(Math.round(took / 1000)).padStart(5)} s  ${title}`);

/** Returns the steps under way, one line each. */
export const stepsUnderWay = () => [...running].map(([title, started]) => `${title}, for ${seconds(started)}`);

function showProgress() {
  const { isTTY } = process.stdout;
  ticker ??= setInterval(isTTY ? redraw : report, isTTY ? REDRAW_MS : REPORT_MS).unref();
}

function redraw() {
  hideProgress();
  const times = [...running].map(([title, started]) => `${title} ${seconds(started)}`);
  process.stdout.write(`  ${times.join(", ")}`.slice(0, process.stdout.columns - 1));
}

const report = () => stepsUnderWay().forEach((line) => say(`  still ${line}`));

function ended(title, started) {
  running.delete(title);
  finished.push({ title, took: performance.now() - started });
  if (running.size > 0) return;
  clearInterval(ticker);
  ticker = undefined;
}

function hideProgress() {
  if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
}

const SHOWN_LINES = 40;

/** Prints the reason why a step failed, once. */
export function explain(error) {
  if (error.explained) return;
  error.explained = true;
  if (error instanceof CommandFailed) {
    const lines = error.output.trimEnd().split("\n");
    for (const line of lines.slice(-SHOWN_LINES)) say(`  │ ${line}`);
    say(`  ${error.message}`);
    if (error.logFile) say(`  All of its output: ${error.logFile}`);
  } else {
    say(`  ${error.message}`);
  }
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
