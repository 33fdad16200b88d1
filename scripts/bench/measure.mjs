// Measures the CPU of reads on both sides, and checks first that these do the same work: the floor's answers and log lines must
// equal the Worker's, byte for byte. The sides alternate, so that other load on the machine affects both.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import { Meter } from "./cpu.mjs";

const CONNECTIONS = 16;
/** The length of a side's turn, in milliseconds. Other load on the machine varies more slowly, so it affects both sides. */
const SLICE_MS = 20;
/** The sides in the order of their turns. */
const TURNS = [0, 1, 1, 0];

/**
 * The number of tries. Signed URLs contain the second of their creation, so two answers can differ if that
 * second passes in between.
 */
const TRIES = 5;

/** Checks that both sides do the same; returns the cases with `request`, and with `answered`, the bytes of the body. */
export async function prepare(cases, { ours, floor }) {
  const prepared = [];
  for (const server of [ours, floor]) await server.forgetLog();
  for (const asked of cases) {
    const clients = [ours, floor].map((server) => server.client(asked.deployment));
    const request = { path: asked.path, headers: { ...asked.headers } };
    // A request for an unchanged answer sends the current ETag.
    if (asked.isUnchanged) {
      const [{ headers }] = await Promise.all(clients.map((client) => client.ask(request)));
      request.headers["if-none-match"] = headers.map((line) => /^etag: *(.+)$/i.exec(line)?.[1]).find(Boolean);
    }
    prepared.push({ ...asked, request, answered: await sameAnswer(asked, request, clients) });
  }
  const [expected, found] = await Promise.all([ours, floor].map(({ logFile }) => linesOf(logFile)));
  assert.deepEqual(found, expected, "the floor's log differs from the Worker's");
  return prepared;
}

/** Compares both answers to a request, and returns the number of their bytes. */
async function sameAnswer({ name, status }, request, clients) {
  let own, other;
  for (let tried = 0; tried < TRIES; tried += 1) {
    [own, other] = await Promise.all(clients.map((client) => client.ask(request)));
    if (own.body.equals(other.body)) break;
  }
  assert.equal(own.status, status, `${name}: the Worker answers ${own.status}: ${own.body}`);
  assert.deepEqual({ ...other, body: `${other.body}` }, { ...own, body: `${own.body}` }, `${name}: the floor's answer differs from the Worker's`);
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
export async function measure(cases, { ours, floor }, { rounds, ms }) {
  const measured = [];
  for (const asked of cases) {
    const sides = [ours, floor].map((server) => ({ server, client: server.client(asked.deployment) }));
    await inTurns(sides, asked, ms);
    const all = [];
    for (let round = 0; round < rounds; round += 1) all.push(await inTurns(sides, asked, ms));
    const [own, other] = [0, 1].map((side) => quartiles(all.map((round) => round[side])).median);
    measured.push({ ...asked, measured: { ours: own, floor: other, ratio: quartiles(all.map(([one, two]) => one / two)) } });
    for (const server of [ours, floor]) await server.forgetLog();
  }
  return measured;
}

/** Runs one round in short slices: first one side, then the other twice, and so on. Returns the CPU time per request of each, in µs. */
async function inTurns(sides, { request, status }, ms) {
  const meters = sides.map(({ server }) => new Meter(server.pid));
  const answers = [0, 0];
  // A side that needs longer than a slice for one request must not extend the round to minutes.
  const late = performance.now() + 4 * ms;
  for (let slice = 0; slice * SLICE_MS < 2 * ms; slice += 1) {
    const turn = slice % TURNS.length;
    if (turn === 0 && performance.now() > late) break;
    answers[TURNS[turn]] += await sides[TURNS[turn]].client.load(request, { ms: SLICE_MS, status, connections: CONNECTIONS });
  }
  return meters.map((meter, side) => meter.used() / answers[side] / 1000);
}

/** Returns the median, and the values that a quarter and three quarters of the values are below. */
export function quartiles(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { median: at(0.5), low: at(0.25), high: at(0.75) };
}
