// The cost of a new isolate's first answers. Isolates of one process share compiled wasm, so each is measured in its own process:
// Terrace and an empty Worker in turn, so that the cost of the process itself can be separated.
import { CASES, HEADERS } from "./cases.mjs";
import { cpuBetween, cpuOf, quartiles } from "./measure.mjs";
import { configure, startWorkerd } from "./workerd.mjs";

/** The first requests of a first `terraform init`, in its order. */
const ASKED = ["discovery", "provider versions of 50", "provider download by R2"];

const MORE = "until the first answer, more than an empty Worker";

/**
 * Starts both `rounds` times; returns the CPU time of each stage in milliseconds, `{ stage: { median, low, high } }`: until the
 * first answer, and for each further first request. The first start is not counted, because its files are not in memory yet.
 */
export async function measureStart(storePort, { rounds }) {
  const [terrace, empty] = [await configure("Terrace", storePort), await configure("empty", storePort)];
  const runs = [];
  for (let round = 0; round <= rounds; round += 1) {
    const { [ASKED[0]]: least } = await coldStart(empty);
    const { [ASKED[0]]: first, ...others } = await coldStart(terrace);
    if (round > 0) runs.push({ [MORE]: first - least, ...others });
  }
  return Object.fromEntries(Object.keys(runs[0]).map((stage) => [stage, quartiles(runs.map((run) => run[stage]))]));
}

/** Runs one process from its start to its end; returns the CPU time until the first answer, and that of the other requests. */
async function coldStart(config) {
  const server = await startWorkerd(config);
  try {
    const stages = {};
    let before = { exactly: 0, roughly: 0 };
    for (const name of ASKED) {
      await server.ask(CASES.find((read) => read.name === name).path, HEADERS);
      const now = cpuOf(server.pid);
      stages[name] = cpuBetween(before, now) / 1e6;
      before = now;
    }
    return stages;
  } finally {
    await server.stop();
  }
}
