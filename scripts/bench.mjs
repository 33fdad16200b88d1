// `npm run bench`: measures the cost of each read against minimal JavaScript with the same behaviour, and
// with `--writes` the cost of writes to a large registry. docs/performance.md explains the results.
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";

import { keep, regressions } from "./bench/baseline.mjs";
import { cases } from "./bench/cases.mjs";
import { write, writeStart } from "./bench/document.mjs";
import { measure, prepare } from "./bench/measure.mjs";
import { MIRRORED, module, NEWEST, provider, SHARED } from "./bench/packages.mjs";
import { isHere, measurePeer } from "./bench/peer.mjs";
import { asJson, peerTable, table } from "./bench/report.mjs";
import { tables } from "./bench/start-report.mjs";
import { buildWorker, wasmWithNames } from "./build.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode } from "./lib/npm.mjs";
import { main, say, step } from "./lib/step.mjs";
import { setup } from "./setup.mjs";

const USAGE = `npm run bench [-- OPTIONS]
  --quick          fewer cases; fails on a regression against scripts/bench/baseline.json
  --keep           save the results as the new baseline
  --start          only the cost of a new isolate's first answers, and the size of what it loads
  --only TEXT      only cases with TEXT in their names
  --rounds N       number of measured rounds (7)
  --ms N           milliseconds per side and round (150)
  --json FILE      write the figures as JSON
  --document       write the figures into docs/performance.md
  --profile TEXT   show where the CPU time goes in the first case with TEXT in its name
  --search         measure searches, lists of the catalogue, details of packages and pages instead
  --writes         measure publishing, reindexing and archives of a gigabyte instead, with
    --quick, --only publish|reindex|upload|gigabyte, --json FILE                to measure less or only a part
    --program FILE                                                              the \`terrace\` command, instead of a debug build
  --latency        measure how long \`terraform init\` and \`tofu init\` take at a distance from the registry and its storage instead,
    with --only TEXT for the projects with TEXT in their names, --json FILE, --document
  --peer URL       the same load on another registry, alternating with Terrace if it is on this machine; see docs/peers.md
    --provider NAMESPACE/TYPE/VERSION, --module NAMESPACE/NAME/SYSTEM/VERSION   its packages; repeatable
    --mirror PATH, --oci PATH   the paths of its providers for mirror and OCI clients (/mirror/${MIRRORED}/, /v2/providers/)
    --token TOKEN, --header "NAME: VALUE"                                       credentials
    --pid N                                                                     its process ID; child processes are included
    --beside URL, --beside-pid N                                                a \`terrace serve\` with the same packages, instead
                                                                                of the Worker
    --alone                                                                     do not measure Terrace
  --export DIR     write the test data as files: Terrace's answers for a static file server, and releases to publish elsewhere`;

const options = {
  quick: { type: "boolean", default: false },
  keep: { type: "boolean", default: false },
  start: { type: "boolean", default: false },
  json: { type: "string" },
  document: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
  only: { type: "string", default: "" },
  rounds: { type: "string", default: "7" },
  ms: { type: "string", default: "150" },
  profile: { type: "string" },
  search: { type: "boolean", default: false },
  writes: { type: "boolean", default: false },
  latency: { type: "boolean", default: false },
  program: { type: "string" },
  peer: { type: "string" },
  provider: { type: "string", multiple: true, default: SHARED.map((n) => `${provider(n)}/${NEWEST}`) },
  module: { type: "string", multiple: true, default: SHARED.map((n) => `${module(n)}/${NEWEST}`) },
  mirror: { type: "string", default: `/mirror/${MIRRORED}/` },
  oci: { type: "string", default: "/v2/providers/" },
  token: { type: "string" },
  header: { type: "string", multiple: true, default: [] },
  pid: { type: "string" },
  beside: { type: "string" },
  "beside-pid": { type: "string" },
  alone: { type: "boolean", default: false },
  export: { type: "string" },
};

/** The number of starts of each side: medians of fewer differ from run to run. */
const STARTS = 25;

endWithParent();
// Servers are stopped when a process exits, but a process does not exit by itself on a signal.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

await main(async () => {
  const { values } = parseArgs({ options });
  if (values.help) return console.log(USAGE);
  const { quick, json } = values;
  const effort = { rounds: number(values.rounds), ms: number(values.ms) };
  if (values.document && !values.start && !values.latency && !isWhole(values)) throw new Error("--document needs a complete run, or --start");
  if (values.peer && (values.alone || values.beside || !isHere(values.peer))) return benchPeer(values, effort);
  if (process.platform !== "linux") throw new Error("CPU time per process can be measured only on Linux");
  await setup();
  await continueUnderNewNode();
  await buildWorker();
  // Imported only now, because these modules need the programs that `setup` installs.
  if (values.writes) return (await import("./bench/writes.mjs")).benchWrites(values);
  if (values.latency) return (await import("./bench/latency.mjs")).benchLatency(values);
  if (values.search) return (await import("./bench/search.mjs")).benchSearch({ only: values.only, json, ...effort });
  const { indices } = await import("./bench/seed.mjs");
  const { startServers } = await import("./bench/servers.mjs");
  const isolate = values.start || isWhole(values) ? await benchStart(await indices()) : {};
  if (values.document && isolate.start) await writeStart(isolate, STARTS);
  if (values.start) return json ? writeFile(json, asJson([], effort, isolate)) : undefined;
  const wanted = cases({ quick }).filter(({ name }) => name.includes(values.only || values.profile || ""));
  if (wanted.length === 0) throw new Error(`no case has ${values.only || values.profile} in its name`);
  const servers = await startServers(await indices(), { inspect: values.profile !== undefined });
  try {
    if (values.peer) return await benchPeer(values, effort, servers.ours);
    if (values.export) {
      const { exportFiles } = await import("./bench/export.mjs");
      return await step(`writing into ${values.export}`, () => exportFiles(values.export, servers.ours));
    }
    if (values.profile !== undefined) {
      const { profile } = await import("./bench/profile.mjs");
      return say(await profile(wanted[0], servers));
    }
    const prepared = await step(`comparing ${wanted.length} answers with the floor's`, () => prepare(wanted, servers));
    const measured = await step(`measuring ${effort.rounds} rounds of each`, () => measure(prepared, servers, effort));
    say(table(measured));
    if (json) await writeFile(json, asJson(measured, effort, isolate));
    if (values.document) await write(measured, effort);
    if (values.keep) return await keep(measured, cases({ quick: true }));
    if (quick) await refuseRegressions(measured, servers, effort);
  } finally {
    await servers.stop();
  }
  return undefined;
});

function isWhole({ quick, only, profile, peer, export: directory }) {
  return !quick && only === "" && !profile && !peer && !directory;
}

/** Measures the cost of a new isolate and the size of what it loads; returns `{ start, size }`. */
async function benchStart(entries) {
  const { measureStart } = await import("./bench/start.mjs");
  const { sizes } = await import("./bench/size.mjs");
  const start = await step(`starting ${STARTS} isolates of each`, () => measureStart(entries, { rounds: STARTS }));
  const isolate = { start, size: await sizes(wasmWithNames) };
  say(tables(isolate));
  return isolate;
}

/** Measures slow cases once more before it reports them. */
async function refuseRegressions(measured, servers, effort) {
  let found = await regressions(measured);
  const slow = new Set(found.filter(({ isTime }) => isTime).map(({ name }) => name));
  if (slow.size > 0) {
    const again = measured.filter(({ name }) => slow.has(name));
    const longer = { rounds: effort.rounds * 2, ms: effort.ms };
    const remeasured = await step(`measuring ${again.length} of them again`, () => measure(again, servers, longer));
    found = [...found.filter(({ isTime }) => !isTime), ...(await regressions(remeasured)).filter(({ isTime }) => isTime)];
  }
  if (found.length > 0) throw new Error(`regressions:\n${found.map(({ name, told }) => `  ${name}: ${told}`).join("\n")}`);
  say("no regression against scripts/bench/baseline.json");
}

async function benchPeer(values, effort, terrace) {
  const { peer: url, provider: providers, module: modules, mirror, oci, token, header, pid, beside, only, json } = values;
  const headers = { ...Object.fromEntries(header.map(parted)), ...(token && { authorization: `Bearer ${token}` }) };
  const served = beside && { url: beside, pid: number(values["beside-pid"] ?? "") };
  const peer = { url, headers, wanted: { providers, modules, mirror, oci }, only, pid: pid && number(pid), served };
  const measured = await step(`measuring ${url}`, () => measurePeer(peer, effort, terrace));
  say(peerTable(measured));
  if (json) await writeFile(json, JSON.stringify({ ...effort, ...measured }, null, 2));
  if (measured.measured.length === 0) throw new Error(`${url} answered none of the requests`);
}

/** Splits a header into its name in lower case, for comparisons, and its value. */
function parted(header) {
  const [, name, value] = /^([\w-]+): *(.*)$/.exec(header) ?? [];
  if (name === undefined) throw new Error(USAGE);
  return [name.toLowerCase(), value];
}

function number(text) {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(USAGE);
  return value;
}
