// `npm run test:perf`: measures the CPU of each read beside minimal JavaScript with the same behaviour, the start of an isolate,
// and the size of the upload. It reports; only a read far above its usual ratio makes it fail. docs/measurements.md explains it.
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";

import { cases, DEPLOYMENTS, limitOf } from "./bench/cases.mjs";
import { buildWorker } from "./build.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode } from "./lib/npm.mjs";
import { main, say, step } from "./lib/step.mjs";
import { setup } from "./setup.mjs";

const USAGE = `npm run test:perf [-- OPTIONS]
  --quick       one size of each case, and neither start nor size
  --start       only the start of an isolate, and the size of the upload
  --only TEXT   only reads with TEXT in their names
  --json FILE   write the figures as JSON`;

const options = {
  quick: { type: "boolean", default: false },
  start: { type: "boolean", default: false },
  only: { type: "string", default: "" },
  json: { type: "string" },
  help: { type: "boolean", default: false },
};

/** The number of measured rounds, and the milliseconds of each for each side. */
const EFFORT = { rounds: 7, ms: 150 };

/** The number of starts of each side: medians of fewer differ from run to run. */
const STARTS = 25;

endWithParent();
// Servers are stopped when a process exits, but a process does not exit by itself on a signal.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

await main(async () => {
  const { values } = parseArgs({ options });
  if (values.help) return console.log(USAGE);
  const { quick, start, only, json } = values;
  const wanted = start ? [] : cases({ quick }).filter(({ name }) => name.includes(only));
  if (!start && wanted.length === 0) throw new Error(`no case has ${only} in its name`);
  if (process.platform !== "linux") throw new Error("CPU time per process can be measured only on Linux");
  await setup();
  await continueUnderNewNode();
  await buildWorker();
  // Imported only now, because these modules need the programs that `setup` installs.
  const { indices } = await import("./bench/seed.mjs");
  const entries = await indices();
  const isolate = start || (!quick && only === "") ? await measureIsolate(entries) : {};
  const reads = wanted.length > 0 ? await measureReads(wanted, entries) : { measured: [], slow: [] };
  const shown = reads.measured.map(({ name, answered, measured }) => ({ name, answered, ...measured }));
  if (json) await writeFile(json, JSON.stringify({ ...EFFORT, node: process.version, cases: shown, ...isolate }, null, 2));
  if (reads.slow.length > 0) throw new Error(`reads above their limit, measured twice:\n${table(reads.slow)}`);
});

/** Measures the start of an isolate and the size of what it loads. */
async function measureIsolate(entries) {
  const { measureStart } = await import("./bench/start.mjs");
  const { SIDES } = await import("./bench/workerd.mjs");
  const start = await step(`starting ${STARTS} isolates of each`, () => measureStart(entries, { rounds: STARTS }));
  const sides = Object.values(start);
  const stages = Object.keys(sides[0]).map((stage) => [stage, ...sides.map((side) => spread(side[stage], 1))]);
  const upload = Buffer.concat(await Promise.all(Object.values(SIDES.Terrace).map((file) => readFile(file))));
  const size = { bytes: upload.length, compressed: gzipSync(upload).length };
  const kib = (bytes) => (bytes / 1024).toFixed(0);
  say(`${aligned([["", ...Object.keys(start).map((side) => `${side}, CPU ms`)], ...stages])}\n\nthe upload: ${kib(size.bytes)} KiB, ${kib(size.compressed)} KiB compressed\n`);
  return { start, size };
}

/** Measures the reads, and those above their limit once more, for longer: other load on the machine passes. */
async function measureReads(wanted, entries) {
  const { configure, startStore, startWorkerd } = await import("./bench/workerd.mjs");
  const { measure, prepare } = await import("./bench/measure.mjs");
  const store = await startStore(entries);
  const servers = {};
  try {
    for (const [name, side] of [["ours", "Terrace"], ["floor", "floor"]]) servers[name] = await startWorkerd(await configure(side, { deployments: DEPLOYMENTS, storePort: store.port }));
    const prepared = await step(`comparing ${wanted.length} answers with the floor's`, () => prepare(wanted, servers));
    const measured = await step(`measuring ${EFFORT.rounds} rounds of each`, () => measure(prepared, servers, EFFORT));
    say(table(measured));
    const suspects = new Set(measured.filter(isSlow).map(({ name }) => name));
    if (suspects.size === 0) return { measured, slow: [] };
    const again = prepared.filter(({ name }) => suspects.has(name));
    const slow = (await step(`measuring ${suspects.size} of them again`, () => measure(again, servers, { ...EFFORT, rounds: EFFORT.rounds * 2 }))).filter(isSlow);
    return { measured, slow };
  } finally {
    for (const server of [...Object.values(servers), store]) await server.stop();
  }
}

/** Other load affects single rounds, so three quarters of them must be above the limit. */
function isSlow(read) {
  return !(read.measured.ratio.low <= limitOf(read));
}

/** Returns the table of reads, with one line per case. */
function table(reads) {
  const rows = reads.map(({ name, answered, measured: { ours, floor, ratio } }) => [name, ours.toFixed(0), floor.toFixed(0), spread(ratio, 2), String(answered)]);
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
