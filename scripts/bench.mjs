// `npm run test:perf`: measures the CPU of each read beside minimal JavaScript with the same behaviour, the start of an isolate,
// and the size of the upload. It reports; only a read far above its usual ratio makes it fail. docs/performance.md explains it.
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";

import { cases, limitOf } from "./bench/cases.mjs";
import { measure, prepare } from "./bench/measure.mjs";
import { asJson, startTable, table } from "./bench/report.mjs";
import { buildWorker } from "./build.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode } from "./lib/npm.mjs";
import { main, say, step } from "./lib/step.mjs";
import { setup } from "./setup.mjs";

const USAGE = `npm run test:perf [-- OPTIONS]
  --quick       one size of each case, and neither start nor size
  --start       only the start of an isolate, and the size of the upload
  --only TEXT   only reads with TEXT in their names
  --rounds N    number of measured rounds (7)
  --ms N        milliseconds per side and round (150)
  --json FILE   write the figures as JSON`;

const options = {
  quick: { type: "boolean", default: false },
  start: { type: "boolean", default: false },
  only: { type: "string", default: "" },
  rounds: { type: "string", default: "7" },
  ms: { type: "string", default: "150" },
  json: { type: "string" },
  help: { type: "boolean", default: false },
};

/** The number of starts of each side: medians of fewer differ from run to run. */
const STARTS = 25;

endWithParent();
// Servers are stopped when a process exits, but a process does not exit by itself on a signal.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

await main(async () => {
  const { values } = parseArgs({ options });
  if (values.help) return console.log(USAGE);
  const { quick, start, only, json } = values;
  const effort = { rounds: number(values.rounds), ms: number(values.ms) };
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
  const reads = wanted.length > 0 ? await measureReads(wanted, entries, effort) : { measured: [], slow: [] };
  if (json) await writeFile(json, asJson(reads.measured, effort, isolate));
  if (reads.slow.length > 0) throw new Error(`reads above their limit, measured twice:\n${table(reads.slow)}`);
});

/** Measures the start of an isolate and the size of what it loads. */
async function measureIsolate(entries) {
  const { measureStart } = await import("./bench/start.mjs");
  const { BUNDLE } = await import("./bench/servers.mjs");
  const start = await step(`starting ${STARTS} isolates of each`, () => measureStart(entries, { rounds: STARTS }));
  const upload = Buffer.concat(await Promise.all(Object.values(BUNDLE).map((file) => readFile(file))));
  const size = { bytes: upload.length, compressed: gzipSync(upload).length };
  say(`${startTable(start)}\n\nthe upload: ${kib(size.bytes)} KiB, ${kib(size.compressed)} KiB compressed\n`);
  return { start, size };
}

/** Measures the reads, and those above their limit once more, for longer: other load on the machine passes. */
async function measureReads(wanted, entries, effort) {
  const { startServers } = await import("./bench/servers.mjs");
  const servers = await startServers(entries);
  try {
    const prepared = await step(`comparing ${wanted.length} answers with the floor's`, () => prepare(wanted, servers));
    const measured = await step(`measuring ${effort.rounds} rounds of each`, () => measure(prepared, servers, effort));
    say(table(measured));
    const suspects = new Set(measured.filter(isSlow).map(({ name }) => name));
    if (suspects.size === 0) return { measured, slow: [] };
    const longer = { ...effort, rounds: effort.rounds * 2 };
    const again = prepared.filter(({ name }) => suspects.has(name));
    const slow = (await step(`measuring ${suspects.size} of them again`, () => measure(again, servers, longer))).filter(isSlow);
    return { measured, slow };
  } finally {
    await servers.stop();
  }
}

/** Other load affects single rounds, so three quarters of them must be above the limit. */
function isSlow(read) {
  return !(read.measured.ratio.low <= limitOf(read));
}

function number(text) {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`${text} is not a positive number`);
  return value;
}

const kib = (bytes) => (bytes / 1024).toFixed(0);
