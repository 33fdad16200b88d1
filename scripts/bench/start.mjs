// The cost of a new isolate's first answers. Isolates of one process share compiled wasm, so each is measured
// in its own process: Terrace, the floor and an empty Worker in turn, so that the cost of the process itself
// can be separated.
import { DEPLOYMENTS, cases } from "./cases.mjs";
import { Meter } from "./cpu.mjs";
import { quartiles } from "./measure.mjs";
import { configure, SIDES, startStore, startWorkerd } from "./workerd.mjs";

const DEPLOYMENT = "presigned";

/** The first requests of a first `terraform init`, in its order. */
const ASKED = ["discovery", "provider versions of 50", "provider download by S3 of 50"];

const LISTENS = "until it listens";
const AGAIN = "the same three again";
const WHOLE = "from start to first answer";
const MORE = "the same, more than the empty one";

/**
 * Starts each side `rounds` times; returns the CPU time of each stage in milliseconds, `{ side: { stage: { median, low, high } } }`:
 * until the process listens, each first request, the same requests once more, and the total until the first answer. The first start
 * is not counted, because its files are not in memory yet.
 */
export async function measureStart(entries, { rounds }) {
  const store = await startStore(entries);
  try {
    const deployments = { [DEPLOYMENT]: DEPLOYMENTS[DEPLOYMENT] };
    const configs = {};
    for (const side of Object.keys(SIDES)) configs[side] = await configure(side, { deployments, storePort: store.port });
    const runs = [];
    for (let round = 0; round <= rounds; round += 1) {
      const inRound = {};
      // In alternating order, so that no side always follows the same other side.
      for (const side of round % 2 ? Object.keys(SIDES).toReversed() : Object.keys(SIDES)) inRound[side] = await coldStart(configs[side]);
      for (const stages of Object.values(inRound)) stages[MORE] = stages[WHOLE] - inRound.empty[WHOLE];
      if (round > 0) runs.push(inRound);
    }
    const summary = (side) => Object.fromEntries(Object.keys(runs[0][side]).map((stage) => [stage, quartiles(runs.map((round) => round[side][stage]))]));
    return Object.fromEntries(Object.keys(SIDES).map((side) => [side, summary(side)]));
  } finally {
    await store.stop();
  }
}

/** Runs one process from its start to its end; returns the CPU time of each stage. */
async function coldStart(config) {
  const server = await startWorkerd(config);
  try {
    const total = () => Meter.ofAll(server.pid).used() / 1e6;
    const client = server.client(DEPLOYMENT);
    const requests = ASKED.map((wanted) => cases().find(({ name }) => name === wanted));
    let before = total();
    const stages = { [LISTENS]: before };
    const lap = (stage) => {
      const now = total();
      stages[stage] = now - before;
      before = now;
    };
    for (const request of requests) {
      await client.ask(request);
      lap(`first ${request.name}`);
    }
    for (const request of requests) await client.ask(request);
    lap(AGAIN);
    stages[WHOLE] = stages[LISTENS] + stages[`first ${ASKED[0]}`];
    return stages;
  } finally {
    await server.stop();
  }
}
