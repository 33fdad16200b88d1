// `npm run instructions`: counts what the core takes in instructions, and compares it with the baseline, as `npm test` does.
// `npm run instructions -- --renew` makes what is counted the baseline: in the commit that changes it, whose message says why.
import { parseArgs } from "node:util";

import {
  buildBenchmarks,
  countInstructions,
  differences,
  readBaseline,
  terms,
  whyNotCompared,
  whyNotCounted,
  writeBaseline,
} from "./lib/instructions.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { isMain } from "./lib/paths.mjs";
import { main, say, step } from "./lib/step.mjs";

/** Why there is nothing to compare with here, or `null`. */
export async function whyNotHere() {
  return (await whyNotCounted()) ?? whyNotCompared(await readBaseline(), await terms());
}

/** Counts, and fails where the numbers are others than those that are kept. */
export async function compareInstructions() {
  await step("building the core's benchmarks", buildBenchmarks);
  await step("counting the core's instructions", async (log) => {
    const found = await countInstructions(log);
    const lines = differences(await readBaseline(), found);
    say(`  ${Object.keys(found.counts).length} benchmarks, ${lines.length} of them not as in the baseline`);
    if (lines.length === 0) return;
    for (const line of lines) say(`  │ ${line}`);
    throw new Error(
      "The core does not take the instructions that are kept. A slip is to be mended; what is meant, or better, is kept " +
        "with `npm run instructions -- --renew`, in the same commit.",
    );
  });
}

async function renew() {
  const reason = await whyNotCounted();
  if (reason) throw new Error(`instructions cannot be counted here: ${reason}`);
  await step("building the core's benchmarks", buildBenchmarks);
  await step("counting the core's instructions", async (log) => {
    const found = await countInstructions(log);
    const before = await readBaseline().catch(() => ({ terms: {}, counts: {} }));
    for (const line of differences(before, found)) say(`  │ ${line}`);
    await writeBaseline(found);
  });
}

if (isMain(import.meta.url)) {
  endWithParent();
  await main(async () => {
    const { values } = parseArgs({ options: { renew: { type: "boolean", default: false } } });
    if (values.renew) return renew();
    const reason = await whyNotHere();
    if (reason) return say(`- skipped: ${reason}`);
    await compareInstructions();
  });
}
