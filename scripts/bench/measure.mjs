// The measuring itself: both sides in turns, so that whatever else the machine does hits both, and the medians of rounds.
import { Meter } from "./cpu.mjs";
import { etagOf, sameAnswer, sameLog } from "./check.mjs";
import { load, wire } from "./load.mjs";
import { median, share } from "./statistics.mjs";

export const CONNECTIONS = 16;
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
    const [ours, floor] = await inRounds(await sidesOf(asked, servers), { rounds, ms });
    measured.push({ ...asked, measured: { ours: summary(ours), floor: summary(floor), ratio: ratio(ours, floor) } });
    await Promise.all([servers.ours.forgetLog(), servers.floor.forgetLog()]);
  }
  return measured;
}

const sidesOf = ({ deployment, request, status }, servers) =>
  Promise.all(
    ["ours", "floor"].map(async (name) => {
      const connections = await servers[name].connections(deployment, CONNECTIONS);
      return { pids: [servers[name].pid], connections, request, status };
    }),
  );

/** What was measured of one or two sides, `{ pids, connections, request, status }`: of each its rounds. */
export async function inRounds(sides, { rounds, ms }) {
  await inTurns(sides, ms);
  const runs = sides.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    (await inTurns(sides, ms)).forEach((run, side) => runs[side].push(run));
  }
  return runs;
}

/** One round: short slices, first one side, then twice the other, and so on. */
async function inTurns(sides, ms) {
  const order = sides.length === 1 ? [0] : [0, 1, 1, 0];
  const runs = sides.map(({ pids }) => new Run(pids));
  // A side that takes longer than a slice for one request shall not make the round last for minutes.
  const late = performance.now() + 2 * sides.length * ms;
  for (let slice = 0; slice * SLICE_MS < sides.length * ms; slice += 1) {
    const turn = slice % order.length;
    if (turn === 0 && performance.now() > late) break;
    const { connections, request, status } = sides[order[turn]];
    runs[order[turn]].add(await load(connections, request, { ms: SLICE_MS, status }));
  }
  return runs.map((run) => run.end());
}

/** What is measured of a side's processes in a round. All that it does from beginning to end is for those who ask. */
class Run {
  #meter;
  #requests = 0;
  #seconds = 0;
  #latencies = [];

  constructor(pids) {
    this.#meter = new Meter(pids);
  }

  add({ requests, seconds, latencies }) {
    this.#requests += requests;
    this.#seconds += seconds;
    for (const latency of latencies) this.#latencies.push(latency);
  }

  /** CPU of a request in µs, requests a second, and the latency of each. */
  end() {
    const used = this.#meter.used();
    const cpu = used === null ? null : used / this.#requests / 1000;
    return { cpu, rate: this.#requests / this.#seconds, latencies: this.#latencies };
  }
}

/** The CPU of one side over that of the other in the same round; `null` where either is not known. */
export function ratio(runs, others) {
  const ratios = runs.map(({ cpu }, at) => (cpu === null || others[at].cpu === null ? null : cpu / others[at].cpu));
  return ratios.includes(null) ? null : { median: median(ratios), low: share(ratios, 0.25), high: share(ratios, 0.75) };
}

/** CPU in µs a request, requests a second, and milliseconds. */
export function summary(runs) {
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
