// Waits for a program while it is at work: on a busy machine, a fixed time is either too short or too long.
import { stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { cpuOfGroup } from "./processes.mjs";

/** In milliseconds: the maximum time without progress, the maximum wait, and the intervals of reports and of checks. */
const DEFAULTS = { idle: 60_000, most: 600_000, say: 15_000, look: 1_000 };

/** The share of a CPU that counts as work: an idle server that receives the same request again and again uses less. */
const AT_WORK = 0.02;

/** A program that did not become ready; `message` is the reason, and `code` its exit code, if it ended. */
export class NotReady extends Error {
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

/**
 * Waits until `ready` resolves, while the program is at work: it runs, and its log grows or it uses CPU time.
 * If CPU time cannot be measured, a running program counts as at work. Rejects with `NotReady`.
 *
 * - `title`: the name of the program;
 * - `ready(signal)`: resolves when the program is ready, and gives up on the signal;
 * - `group`: the id of its process group; `ended`: resolves with its exit code; `logFile`: its output;
 * - `say`: receives a line every 15 seconds;
 * - `times`: replaces some of the defaults.
 */
export async function waitWhileAtWork({ title, ready, group, ended, logFile, say = () => {}, times = {} }) {
  const stop = new AbortController();
  try {
    return await Promise.race([
      ready(stop.signal),
      ended.then((code) => {
        throw new NotReady(`${title} ended with exit code ${code} before it was ready`, code);
      }),
      watch({ title, progress: () => progress(group, logFile), say, times: { ...DEFAULTS, ...times } }, stop.signal),
    ]);
  } finally {
    stop.abort();
  }
}

/** Rejects when the program makes no progress or takes too long; resolves only after the signal. */
async function watch({ title, progress, say, times }, signal) {
  const began = Date.now();
  let spoken = began;
  let [lastAt, last] = [began, await progress()];
  for (;;) {
    await sleep(times.look, undefined, { ref: false });
    if (signal.aborted) return;
    const [now, seen] = [Date.now(), await progress()];
    if (isProgress(last, seen, now - lastAt)) [lastAt, last] = [now, seen];
    const waited = seconds(now - began);
    const used = seen.cpu === null ? "it is running" : `it has used ${seen.cpu.toFixed(1)} s of CPU`;
    if (now - lastAt > times.idle) throw new NotReady(`${title} was not ready after ${waited}, and made no progress in the last ${seconds(times.idle)}; ${used}`);
    if (now - began > times.most) throw new NotReady(`${title} was not ready after ${waited}, the maximum wait; ${used}`);
    if (now - spoken < times.say) continue;
    spoken = now;
    say(`${title} is not ready after ${waited}; ${used}. Waiting while it is at work, for at most ${seconds(times.most)}`);
  }
}

async function progress(group, logFile) {
  const bytes = await stat(logFile).then(({ size }) => size, () => 0);
  return { bytes, cpu: cpuOfGroup(group) };
}

function isProgress(before, now, ms) {
  if (now.cpu === null || now.bytes > before.bytes) return true;
  return now.cpu - before.cpu > Math.max(0.1, (AT_WORK * ms) / 1000);
}

const seconds = (ms) => `${Math.round(ms / 1000)} s`;
