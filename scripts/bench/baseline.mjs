// What was measured when somebody last looked, kept beside this file: a regression shows in the commit that makes it. Ratios
// and counts only, since absolute times are those of a machine.
import { readFile, writeFile } from "node:fs/promises";

const FILE = new URL("baseline.json", import.meta.url);

/** How much larger than the kept ratio that of three quarters of all rounds must be: what else a machine does hits single ones. */
const TOLERANCE = 1.25;

/** Keeps what was measured; what was not stays as it is, as far as there is such a case in `all`. */
export async function keep(cases, all) {
  const measured = cases.map(({ name, cost, measured }) => [name, { ratio: rounded(measured.ratio.median), ...cost }]);
  const known = { ...(await kept()), ...Object.fromEntries(measured) };
  const entries = all.filter(({ name }) => name in known).map(({ name }) => [name, known[name]]);
  return writeFile(FILE, `{\n${entries.map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(",\n")}\n}\n`);
}

const kept = async () => JSON.parse(await readFile(FILE, "utf8").catch(() => "{}"));

const rounded = (ratio) => Math.round(ratio * 100) / 100;

/** The regressions, `{ name, told, isTime }`; one of time may be the machine's, and deserves another look. */
export async function regressions(cases) {
  const known = await kept();
  return cases.flatMap(({ name, cost, measured: { ratio } }) => {
    const before = known[name];
    if (!before) return [{ name, told: "it is not in scripts/bench/baseline.json: `npm run bench -- --quick --keep` puts it there" }];
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
