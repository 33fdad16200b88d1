// Alternates between both sides, so that other load on the machine affects both, and takes the medians of
// rounds.
import { Meter } from "./cpu.mjs";
import { etagOf, sameAnswer, sameLog } from "./check.mjs";
import { load, wire } from "./load.mjs";
import { median, share } from "./statistics.mjs";

export const CONNECTIONS = 16;
/** The length of a side's turn. Other load on the machine varies more slowly, so it affects both sides. */
const SLICE_MS = 20;
/** The number of requests that are counted one by one; their median ignores an occasional refresh of the revoked tokens. */
const COUNTED = 3;

/** Checks that both sides do the same, and counts the operations of a request; returns the cases with `request` and `cost`. */
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

/** A request for an unchanged answer sends the current ETag. */
async function requestFor({ path, headers, isUnchanged }, connections) {
  if (!isUnchanged) return wire({ path, headers });
  const [etag] = (await Promise.all(connections.map((connection) => connection.ask(wire({ path, headers }))))).map(etagOf);
  return wire({ path, headers: { ...headers, "if-none-match": etag } });
}

/**
 * Runs all rounds of each case, of `ms` for each side; the first one only warms up. A case leaves garbage and
 * code optimised for its answers, which would distort the next, so cases do not alternate. Returns the cases
 * with their figures.
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

/** Measures one or two sides, `{ pids, connections, request, status }`, and returns the rounds of each. */
export async function inRounds(sides, { rounds, ms }) {
  await inTurns(sides, ms);
  const runs = sides.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    (await inTurns(sides, ms)).forEach((run, side) => runs[side].push(run));
  }
  return runs;
}

/** Runs one round in short slices: first one side, then the other twice, and so on. */
async function inTurns(sides, ms) {
  const order = sides.length === 1 ? [0] : [0, 1, 1, 0];
  const runs = sides.map(({ pids }) => new Run(pids));
  // A side that needs longer than a slice for one request must not extend the round to minutes.
  const late = performance.now() + 2 * sides.length * ms;
  for (let slice = 0; slice * SLICE_MS < sides.length * ms; slice += 1) {
    const turn = slice % order.length;
    if (turn === 0 && performance.now() > late) break;
    const { connections, request, status } = sides[order[turn]];
    runs[order[turn]].add(await load(connections, request, { ms: SLICE_MS, status }));
  }
  return runs.map((run) => run.end());
}

/** The measurement of a side's processes in a round. Everything that they do in that time counts for the requests. */
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

  /** Returns the CPU time per request in µs, requests per second, and the latency of each. */
  end() {
    const used = this.#meter.used();
    const cpu = used === null ? null : used / this.#requests / 1000;
    return { cpu, rate: this.#requests / this.#seconds, latencies: this.#latencies };
  }
}

/** Returns the ratio of both sides' CPU times in the same round; `null` if either is unknown. */
export function ratio(runs, others) {
  const ratios = runs.map(({ cpu }, at) => (cpu === null || others[at].cpu === null ? null : cpu / others[at].cpu));
  return ratios.includes(null) ? null : { median: median(ratios), low: share(ratios, 0.25), high: share(ratios, 0.75) };
}

/** Returns the CPU time per request in µs, requests per second, and latencies in milliseconds. */
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
