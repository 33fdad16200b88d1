// The measuring itself: both sides in turns, so that whatever else the machine does hits both, and the medians of rounds.
import { cpuOf } from "./cpu.mjs";
import { etagOf, sameAnswer, sameLog } from "./check.mjs";
import { load, wire } from "./load.mjs";

const CONNECTIONS = 16;
/** How long each side is asked at a time: whatever else the machine does comes and goes more slowly, and hits both. */
const SLICE_MS = 20;
/** Requests that are looked at one by one; their median passes over a token that happens to be looked up again. */
const COUNTED = 3;

/** Sees to it that both sides do the same, and counts what a request takes: the cases with `request` and `cost`. */
export async function prepare(cases, { ours, floor, counted }) {
  const prepared = [];
  await Promise.all([ours, floor].map((server) => server.forgetLog()));
  for (const asked of cases) {
    const [[own], [other]] = await Promise.all([ours, floor].map((server) => server.connections(asked.deployment, 1)));
    const request = await requestFor(asked, [own, other]);
    const { bytes } = await sameAnswer(asked, request, own, other);
    const costs = [];
    const floors = [];
    for (let at = 0; at < COUNTED; at += 1) {
      costs.push(await counted.costOf(asked.deployment, request, { crossings: true }));
      floors.push(await floor.costOf(asked.deployment, request));
      await own.ask(request);
    }
    const { kv, r2, calls, bytes: copied } = medians(costs);
    const least = medians(floors);
    prepared.push({ ...asked, request, answered: bytes, cost: { kv, r2, calls, copied }, floorCost: { kv: least.kv, r2: least.r2 } });
  }
  await sameLog(ours, floor);
  return prepared;
}

/** What is unchanged is asked for with the ETag that it has. */
async function requestFor({ path, headers, isUnchanged }, connections) {
  if (!isUnchanged) return wire({ path, headers });
  const [etag] = (await Promise.all(connections.map((connection) => connection.ask(wire({ path, headers }))))).map(etagOf);
  return wire({ path, headers: { ...headers, "if-none-match": etag } });
}

/**
 * All rounds of each case, of `ms` for each side; the first of them only warms up. What a case leaves behind (garbage, code that
 * was made for other answers) would blur the next one, so they do not take turns. Returns the cases with what was measured.
 */
export async function measure(cases, servers, { rounds, ms }) {
  const measured = [];
  for (const asked of cases) {
    await inTurns(asked, servers, ms);
    const runs = { ours: [], floor: [] };
    for (let round = 0; round < rounds; round += 1) {
      const { ours, floor } = await inTurns(asked, servers, ms);
      runs.ours.push(ours);
      runs.floor.push(floor);
    }
    measured.push({ ...asked, measured: summary(runs) });
    await Promise.all([servers.ours.forgetLog(), servers.floor.forgetLog()]);
  }
  return measured;
}

/** One round of one case: short slices, first one side, then twice the other, and so on. */
async function inTurns({ deployment, request, status }, servers, ms) {
  const sides = {};
  for (const side of ["ours", "floor"]) {
    const { pid } = servers[side];
    sides[side] = { run: new Run(pid), connections: await servers[side].connections(deployment, CONNECTIONS) };
  }
  for (let slice = 0; slice * SLICE_MS < 2 * ms; slice += 1) {
    const { run, connections } = sides[slice % 4 === 0 || slice % 4 === 3 ? "ours" : "floor"];
    run.add(await load(connections, request, { ms: SLICE_MS, status }));
  }
  return { ours: sides.ours.run.end(), floor: sides.floor.run.end() };
}

/** What is measured of a process in a round. All that it does from beginning to end is for those who ask. */
export class Run {
  #pid;
  #before;
  #requests = 0;
  #seconds = 0;
  #latencies = [];

  constructor(pid) {
    this.#pid = pid;
    this.#before = cpuOf(pid);
  }

  add({ requests, seconds, latencies }) {
    this.#requests += requests;
    this.#seconds += seconds;
    for (const latency of latencies) this.#latencies.push(latency);
  }

  /** CPU of a request in µs, requests a second, and the latency of each. */
  end() {
    const after = cpuOf(this.#pid);
    const cpu = after === null ? null : (after - this.#before) / this.#requests / 1000;
    return { cpu, rate: this.#requests / this.#seconds, latencies: this.#latencies };
  }
}

function summary({ ours, floor }) {
  const ratios = ours.map(({ cpu }, at) => cpu / floor[at].cpu);
  return {
    ours: side(ours),
    floor: side(floor),
    ratio: { median: median(ratios), low: share(ratios, 0.25), high: share(ratios, 0.75) },
  };
}

/** CPU in µs a request, requests a second, and milliseconds. */
export function side(runs) {
  const latencies = runs.flatMap((run) => run.latencies);
  const cpus = runs.map(({ cpu }) => cpu);
  return {
    cpu: cpus.includes(null) ? null : median(cpus),
    rate: median(runs.map(({ rate }) => rate)),
    p50: share(latencies, 0.5),
    p99: share(latencies, 0.99),
  };
}

const medians = (counts) => Object.fromEntries(Object.keys(counts[0]).map((name) => [name, median(counts.map((count) => count[name]))]));

/** The value that this share of them is below. */
function share(values, part) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
