// Writes the goals and tables of a complete run into docs/performance.md, between the markers there.
import { readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";

import { root } from "../lib/paths.mjs";
import { heads, rows } from "./report.mjs";
import { sizeRows, startRows } from "./start-report.mjs";
import { median } from "./statistics.mjs";

const FILE = join(root, "docs", "performance.md");
const READS = "npm run bench -- --document";
const START = "npm run bench -- --start --document";
const LATENCY = "npm run bench -- --latency --document";
const begin = (command) => `<!-- Written by \`${command}\`; do not edit what follows by hand. -->`;
const END = "<!-- Until here. -->";

const isList = ({ route }) => /versions$|index$|tags$/.test(route);
const isManifest = ({ route }) => route === "OCI manifest";
const has = (status, is) => (it) => it.status === status && is(it);

/** The cases by their performance goal: the maximum ratio to the CPU time of the floor. */
const GOALS = [
  ["discovery", 1.1, ({ route }) => route === "discovery"],
  ["version lists, mirror indices and tags of 1 to 500 versions", 1.1, has(200, (it) => isList(it) && it.n < 5_000)],
  ["the same of 5,000 versions", 1.1, has(200, (it) => isList(it) && it.n === 5_000)],
  ["the same, not modified", 1.1, has(304, isList)],
  ["OCI manifests", 1.1, has(200, isManifest)],
  ["the same, not modified", 1.1, has(304, isManifest)],
  ["downloads and mirror versions, URLs of R2", 1, has(200, ({ mode }) => mode === "S3")],
  ["the same, URLs of the Worker", null, has(200, ({ mode }) => mode === "Worker")],
  ["not found, by way of R2", null, ({ status, n }) => status === 404 && n !== undefined],
  ["without a route, and without a token where one is needed", null, ({ status, n }) => status === 401 || (status === 404 && n === undefined)],
];

export function write(cases, { rounds, ms }) {
  const effort = `--rounds ${rounds} --ms ${ms}`;
  return fill(READS, effort, [...goals(cases), "", ofTokens(cases), "", ...markdown([heads, ...rows(cases)])]);
}

/** Writes the figures of a new isolate, with the number of starts. */
export function writeStart({ start, size }, starts) {
  const conditions = `The medians of ${starts} starts of each, with the range of the middle half in brackets.`;
  return fill(START, "", [conditions, "", ...markdown(startRows(start)), "", ...markdown(sizeRows(size))]);
}

/** Writes the durations at a distance: of clients, and of publishes. */
export function writeLatency([clients, publishes]) {
  return fill(LATENCY, "", [...markdown(clients), "", ...markdown(publishes)]);
}

/** Replaces the part of the page that this command wrote. */
async function fill(command, effort, lines) {
  const text = await readFile(FILE, "utf8");
  const [before, rest] = text.split(begin(command));
  const [old] = rest?.split(END) ?? [];
  if (rest === undefined || old === rest) throw new Error(`${FILE} has no section for these figures: it must contain the markers that this command writes`);
  const model = cpus()[0].model.trim();
  const run = [command, effort].filter(Boolean).join(" ");
  const conditions = `\`${run}\`, on ${cpus().length} cores (${model}), Linux, Node ${process.versions.node}.`;
  const parts = [begin(command), "", conditions, "", ...lines, "", END];
  await writeFile(FILE, `${before}${parts.join("\n")}${rest.slice(old.length + END.length)}`);
}

function goals(cases) {
  const lines = GOALS.map(([name, goal, is]) => {
    const [without, withToken] = [false, true].map((hasToken) => shown(cases.filter((it) => is(it) && it.hasToken === hasToken)));
    return [name, without, withToken, goal?.toFixed(2) ?? "–"];
  });
  return markdown([["ratio: the median, and the least and most, of all such cases", "no token", "a token", "goal"], ...lines]);
}

function shown(cases) {
  const ratios = cases.map(({ measured }) => measured.ratio.median);
  if (ratios.length === 0) return "–";
  const spread = ratios.length > 1 ? ` (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})` : "";
  return `${median(ratios).toFixed(2)}${spread}`;
}

/** Returns the additional cost of a request with a token. */
function ofTokens(cases) {
  const pairs = cases.flatMap((it) => {
    const other = cases.find(({ name }) => it.hasToken && name === it.name.replace(" with a token", ""));
    return other ? [[it.measured, other.measured]] : [];
  });
  const more = (side) => median(pairs.map(([token, none]) => token[side].cpu - none[side].cpu)).toFixed(0);
  return `A token adds ${more("ours")} µs, by the median of ${pairs.length} pairs of cases; ${more("floor")} µs in the floor.`;
}

const markdown = ([head, ...lines]) => [head, head.map((_, at) => (at === 0 ? "---" : "---:")), ...lines].map((cells) => `| ${cells.join(" | ")} |`);
