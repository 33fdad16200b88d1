// Measures the CPU of reads on both sides, and checks first that these do the same work: the floor's answers and log lines must
// equal the Worker's, byte for byte. The sides alternate, so that other load on the machine affects both.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";

import { HEADERS } from "./cases.mjs";

const CONNECTIONS = 16;
/** The length of a side's turn, in milliseconds. Other load on the machine varies more slowly, so it affects both sides. */
const SLICE_MS = 20;
/** The sides in the order of their turns. */
const TURNS = [0, 1, 1, 0];

/** Signed URLs contain the second of their creation, so two answers can differ if that second passes in between. */
const TRIES = 5;

const TICK_NS = 10_000_000;

/** Returns the CPU time of a process so far, in nanoseconds: the sum of its threads, and roughly. Only Linux reports both. */
export function cpuOf(pid) {
  const threads = readdirSync(`/proc/${pid}/task`);
  const exactly = threads.reduce((sum, thread) => sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]), 0);
  // The name before these fields may contain any character.
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const [user, system] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13).map(Number);
  return { exactly, roughly: (user + system) * TICK_NS };
}

/**
 * Returns the CPU time between two results of `cpuOf`. The precise counter of a thread disappears when the thread
 * ends; the process keeps the total in ticks, which are too long for short rounds.
 */
export function cpuBetween(before, after) {
  const [exactly, roughly] = [after.exactly - before.exactly, after.roughly - before.roughly];
  return roughly - exactly > 2 * TICK_NS ? roughly : exactly;
}

/** Checks that both sides do the same; returns the cases with `headers`, and with `answered`, the bytes of the body. */
export async function prepare(cases, sides) {
  const prepared = [];
  for (const side of sides) await side.forgetLog();
  for (const read of cases) {
    const headers = { ...HEADERS };
    if (read.status === 304) headers["if-none-match"] = (await Promise.all(sides.map((side) => side.ask(read.path, headers))))[0].etag;
    prepared.push({ ...read, headers, answered: await sameAnswer(read, headers, sides) });
  }
  const [expected, found] = await Promise.all(sides.map(({ logFile }) => linesOf(logFile)));
  assert.deepEqual(found, expected, "the floor's log differs from the Worker's");
  return prepared;
}

/** Compares both answers to a request, and returns the number of their bytes. */
async function sameAnswer({ name, path, status }, headers, sides) {
  let own, other;
  for (let tried = 0; tried < TRIES; tried += 1) {
    [own, other] = await Promise.all(sides.map((side) => side.ask(path, headers)));
    if (own.body === other.body) break;
  }
  assert.equal(own.status, status, `${name}: the Worker answers ${own.status}: ${own.body}`);
  assert.deepEqual(other, own, `${name}: the floor's answer differs from the Worker's`);
  return own.body.length;
}

/** Returns the lines of a log, except durations, and lookups in R2 that each side repeats when 30 seconds have passed. */
async function linesOf(file) {
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line.startsWith('{"route"'));
  const timeless = lines.map((line) => line.replaceAll(/"((?:\w+_)?ms)":\d+/g, '"$1":0'));
  return timeless.map((line) => (line.includes('"index":"miss"') ? line.replace(/"r2":\d+/, '"r2":0') : line)).sort();
}

/**
 * Runs all rounds of each case, of `ms` for each side; the first one only warms up. A case leaves garbage and
 * code optimised for its answers, which would distort the next, so cases do not alternate. Returns the cases
 * with the CPU time of each side per request in µs, and the ratio of both in the same round.
 */
export async function measure(cases, sides, { rounds, ms }) {
  const measured = [];
  for (const read of cases) {
    await inTurns(sides, read, ms);
    const all = [];
    for (let round = 0; round < rounds; round += 1) all.push(await inTurns(sides, read, ms));
    const [ours, floor] = [0, 1].map((side) => quartiles(all.map((round) => round[side])).median);
    measured.push({ ...read, ours, floor, ratio: quartiles(all.map(([own, other]) => own / other)) });
    for (const side of sides) await side.forgetLog();
  }
  return measured;
}

/** Runs one round in short slices: first one side, then the other twice, and so on. Returns the CPU time per request of each, in µs. */
async function inTurns(sides, read, ms) {
  const before = sides.map(({ pid }) => cpuOf(pid));
  const answers = [0, 0];
  // A side that needs longer than a slice for one request must not extend the round to minutes.
  const late = performance.now() + 4 * ms;
  for (let slice = 0; slice * SLICE_MS < 2 * ms; slice += 1) {
    const turn = slice % TURNS.length;
    if (turn === 0 && performance.now() > late) break;
    answers[TURNS[turn]] += await load(sides[TURNS[turn]], read);
  }
  return sides.map(({ pid }, side) => cpuBetween(before[side], cpuOf(pid)) / answers[side] / 1000);
}

/** Sends a request over all connections, again as soon as it is answered, for a slice. Returns the number of answers. */
async function load(side, { path, headers, status }) {
  let answers = 0;
  const deadline = performance.now() + SLICE_MS;
  const asking = Array.from({ length: CONNECTIONS }, async () => {
    while (performance.now() < deadline) {
      const found = await side.ask(path, headers);
      if (found.status !== status) throw new Error(`not status ${status}, but ${found.status}: ${path}`);
      answers += 1;
    }
  });
  await Promise.all(asking);
  return answers;
}

/** Returns the median, and the values that a quarter and three quarters of the values are below. */
export function quartiles(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { median: at(0.5), low: at(0.25), high: at(0.75) };
}
