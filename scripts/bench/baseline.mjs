// The accepted figures, kept beside this file, so that a regression shows in the commit that causes it. They
// are ratios and counts only, because absolute times depend on the machine.
import { readFile, writeFile } from "node:fs/promises";

const FILE = new URL("baseline.json", import.meta.url);

/**
 * The factor by which a ratio must exceed the baseline in three quarters of all rounds to count as a
 * regression. Other load on the machine affects only single rounds.
 */
const TOLERANCE = 1.25;

/** Saves the measured figures; figures of cases that were not measured are kept if `all` has the case. */
export async function keep(cases, all) {
  const measured = cases.map(({ name, cost, measured }) => [name, { ratio: rounded(measured.ratio.median), ...cost }]);
  const known = { ...(await kept()), ...Object.fromEntries(measured) };
  const entries = all.filter(({ name }) => name in known).map(({ name }) => [name, known[name]]);
  return writeFile(FILE, `{\n${entries.map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(",\n")}\n}\n`);
}

const kept = async () => JSON.parse(await readFile(FILE, "utf8").catch(() => "{}"));

const rounded = (ratio) => Math.round(ratio * 100) / 100;

/** Returns the regressions, `{ name, told, isTime }`. One of time may be caused by the machine and should be measured again. */
export async function regressions(cases) {
  const known = await kept();
  return cases.flatMap(({ name, cost, measured: { ratio } }) => {
    const before = known[name];
    if (!before) return [{ name, told: "it is not in scripts/bench/baseline.json: add it with `npm run bench -- --quick --keep`" }];
    const grown = Object.keys(cost).filter((count) => cost[count] > before[count]);
    const told = grown.map((count) => ({ name, told: `${NAMES[count]}: ${cost[count]}, was ${before[count]}` }));
    if (!(ratio.low <= before.ratio * TOLERANCE)) {
      const seen = `${ratio.median.toFixed(2)} (${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)})`;
      told.push({ name, told: `CPU: ${seen} times the floor, was ${before.ratio}`, isTime: true });
    }
    return told;
  });
}

const NAMES = { kv: "KV operations", r2: "R2 operations", calls: "calls between JavaScript and wasm", copied: "bytes copied into wasm" };
