// `npm run instructions`: counts the instructions of the core's benchmarks, and compares them with the
// baseline, as `npm test` does. `npm run instructions -- --renew` saves the counts as the baseline; use it in
// the commit that changes them, and state the reason in its message.
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

/** Returns the reason why the counts cannot be compared on this machine, or `null`. */
export async function whyNotHere() {
  return (await whyNotCounted()) ?? whyNotCompared(await readBaseline(), await terms());
}

/** Counts the instructions, and fails if they differ from the baseline. */
export async function compareInstructions() {
  await step("building the core's benchmarks", buildBenchmarks);
  await step("counting the core's instructions", async (log) => {
    const found = await countInstructions(log);
    const lines = differences(await readBaseline(), found);
    say(`  ${Object.keys(found.counts).length} benchmarks, ${lines.length} of them differ from the baseline`);
    if (lines.length === 0) return;
    for (const line of lines) say(`  │ ${line}`);
    throw new Error(
      "The core's instruction counts differ from the baseline. Fix an accidental increase. Save an intended change or an " +
        "improvement with `npm run instructions -- --renew` in the same commit.",
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
