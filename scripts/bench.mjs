// `npm run test:perf`: measures the CPU of a read of each kind beside minimal JavaScript with the same behaviour, the start of an
// isolate, and the size of the upload. It reports; only a read far above its usual ratio makes it fail. docs/measurements.md explains it.
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";

import { CASES } from "./bench/cases.mjs";
import { buildWorker } from "./build.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode } from "./lib/npm.mjs";
import { main, say, step } from "./lib/step.mjs";
import { setup } from "./setup.mjs";

const USAGE = `npm run test:perf [-- OPTIONS]
  --only TEXT   only reads with TEXT in their names, and neither start nor size
  --json FILE   write the figures as JSON`;

/** The number of measured rounds, and the milliseconds of each for each side. */
const EFFORT = { rounds: 7, ms: 150 };

/** The number of starts of each side: medians of fewer differ from run to run. */
const STARTS = 25;

endWithParent();
// Servers are stopped when a process exits, but a process does not exit by itself on a signal.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

await main(async () => {
  const { values: { only, json, help } } = parseArgs({ options: { only: { type: "string" }, json: { type: "string" }, help: { type: "boolean" } } });
  if (help) return console.log(USAGE);
  const wanted = CASES.filter(({ name }) => name.includes(only ?? ""));
  if (wanted.length === 0) throw new Error(`no case has ${only} in its name`);
  if (process.platform !== "linux") throw new Error("CPU time per process can be measured only on Linux");
  await setup();
  await continueUnderNewNode();
  await buildWorker();
  // Imported only now, because these modules need the programs that `setup` installs.
  const { indices } = await import("./bench/seed.mjs");
  const { startStore } = await import("./bench/workerd.mjs");
  const store = await startStore(await indices());
  try {
    const isolate = only === undefined ? await measureIsolate(store.port) : {};
    const { measured, slow } = await measureReads(wanted, store.port);
    if (json) await writeFile(json, JSON.stringify({ ...EFFORT, node: process.version, cases: measured, ...isolate }, null, 2));
    if (slow.length > 0) throw new Error(`reads above their limit, measured twice:\n${table(slow)}`);
  } finally {
    await store.stop();
  }
});

/** Measures the start of an isolate and the size of what it loads. */
async function measureIsolate(storePort) {
  const { measureStart } = await import("./bench/start.mjs");
  const { SIDES } = await import("./bench/workerd.mjs");
  const start = await step(`starting ${STARTS} isolates`, () => measureStart(storePort, { rounds: STARTS }));
  const upload = Buffer.concat(await Promise.all(Object.values(SIDES.Terrace).map((file) => readFile(file))));
  const size = { bytes: upload.length, compressed: gzipSync(upload).length };
  const [whole, compressed] = Object.values(size).map((bytes) => (bytes / 1024).toFixed(0));
  const stages = Object.entries(start).map(([stage, times]) => [stage, spread(times, 1)]);
  say(`${aligned([["", "CPU ms"], ...stages])}\n\nthe upload: ${whole} KiB, ${compressed} KiB compressed\n`);
  return { start, size };
}

/** Measures the reads, and those above their limit once more, for longer: other load on the machine passes. */
async function measureReads(wanted, storePort) {
  const { configure, startWorkerd } = await import("./bench/workerd.mjs");
  const { measure, prepare } = await import("./bench/measure.mjs");
  const sides = [];
  try {
    for (const side of ["Terrace", "floor"]) sides.push(await startWorkerd(await configure(side, storePort)));
    const prepared = await step(`comparing ${wanted.length} answers with the floor's`, () => prepare(wanted, sides));
    const measured = await step(`measuring ${EFFORT.rounds} rounds of each`, () => measure(prepared, sides, EFFORT));
    say(table(measured));
    // Other load affects single rounds, so three quarters of them must be above the limit.
    const isSlow = ({ ratio, limit }) => !(ratio.low <= limit);
    const again = prepared.filter((_, at) => isSlow(measured[at]));
    if (again.length === 0) return { measured, slow: [] };
    const repeated = await step(`measuring ${again.length} of them again`, () => measure(again, sides, { ...EFFORT, rounds: EFFORT.rounds * 2 }));
    return { measured, slow: repeated.filter(isSlow) };
  } finally {
    for (const side of sides) await side.stop();
  }
}

/** Returns the table of reads, with one line per case. */
function table(reads) {
  const rows = reads.map(({ name, answered, ours, floor, ratio }) => [name, ours.toFixed(0), floor.toFixed(0), spread(ratio, 2), String(answered)]);
  return aligned([["", "CPU µs", "floor µs", "ratio", "B answered"], ...rows]);
}

function spread({ median, low, high }, digits) {
  return `${median.toFixed(digits)} (${low.toFixed(digits)}–${high.toFixed(digits)})`;
}

/** Returns a table whose first column is text and whose other columns are numbers. */
function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) => row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join("  ");
  return rows.map(line).join("\n");
}
