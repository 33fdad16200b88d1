// Alternates between both sides, so that other load on the machine affects both, and takes the medians of
// rounds.
import { Meter } from "./cpu.mjs";
import { etagOf, sameAnswer, sameLog } from "./check.mjs";
import { load, wire } from "./load.mjs";
import { median, share } from "./statistics.mjs";

const CONNECTIONS = 16;
/** The length of a side's turn. Other load on the machine varies more slowly, so it affects both sides. */
const SLICE_MS = 20;
/** The sides in the order of their turns. */
const TURNS = [0, 1, 1, 0];

/** Checks that both sides do the same; returns the cases with `request`, and with `answered`, the bytes of the body. */
export async function prepare(cases, { ours, floor }) {
  const prepared = [];
  await Promise.all([ours, floor].map((server) => server.forgetLog()));
  for (const asked of cases) {
    const [[own], [other]] = await Promise.all([ours, floor].map((server) => server.connections(asked.deployment, 1)));
    const request = await requestFor(asked, [own, other]);
    const { bytes } = await sameAnswer(asked, request, own, other);
    prepared.push({ ...asked, request, answered: bytes });
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
    const sides = await Promise.all([servers.ours, servers.floor].map((server) => sideOf(server, asked)));
    await inTurns(sides, ms);
    const [ours, floor] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      const [own, other] = await inTurns(sides, ms);
      ours.push(own);
      floor.push(other);
    }
    measured.push({ ...asked, measured: { ours: summary(ours), floor: summary(floor), ratio: ratio(ours, floor) } });
    await Promise.all([servers.ours.forgetLog(), servers.floor.forgetLog()]);
  }
  return measured;
}

async function sideOf(server, { deployment, request, status }) {
  return { pid: server.pid, connections: await server.connections(deployment, CONNECTIONS), request, status };
}

/** Runs one round in short slices: first one side, then the other twice, and so on. */
async function inTurns(sides, ms) {
  const runs = sides.map(({ pid }) => new Run(pid));
  // A side that needs longer than a slice for one request must not extend the round to minutes.
  const late = performance.now() + 4 * ms;
  for (let slice = 0; slice * SLICE_MS < 2 * ms; slice += 1) {
    const turn = slice % TURNS.length;
    if (turn === 0 && performance.now() > late) break;
    const { connections, request, status } = sides[TURNS[turn]];
    runs[TURNS[turn]].add(await load(connections, request, { ms: SLICE_MS, status }));
  }
  return runs.map((run) => run.end());
}

/** The measurement of a side's process in a round. Everything that it does in that time counts for the requests. */
class Run {
  #meter;
  #requests = 0;
  #seconds = 0;
  #latencies = [];

  constructor(pid) {
    this.#meter = new Meter(pid);
  }

  add({ seconds, latencies }) {
    this.#requests += latencies.length;
    this.#seconds += seconds;
    for (const latency of latencies) this.#latencies.push(latency);
  }

  /** Returns the CPU time per request in µs, requests per second, and the latency of each. */
  end() {
    return { cpu: this.#meter.used() / this.#requests / 1000, rate: this.#requests / this.#seconds, latencies: this.#latencies };
  }
}

/** Returns the ratio of both sides' CPU times in the same round. */
function ratio(runs, others) {
  const ratios = runs.map(({ cpu }, at) => cpu / others[at].cpu);
  return { median: median(ratios), low: share(ratios, 0.25), high: share(ratios, 0.75) };
}

/** Returns the CPU time per request in µs, requests per second, and latencies in milliseconds. */
function summary(runs) {
  const latencies = runs.flatMap((run) => run.latencies);
  return {
    cpu: median(runs.map(({ cpu }) => cpu)),
    rate: median(runs.map(({ rate }) => rate)),
    p50: share(latencies, 0.5),
    p99: share(latencies, 0.99),
  };
}
