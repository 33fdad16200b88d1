// The report on a new isolate: the cost of its first answers, and the size of what it loads.
import { aligned } from "./report.mjs";

/** Returns both tables, for a terminal. */
export const tables = ({ start, size }) => `${aligned(startRows(start))}\n\n${aligned(sizeRows(size))}\n`;

/** Returns the table of stages, with the CPU time of each side, then its wall time. */
export function startRows(sides) {
  const [names, measured] = [Object.keys(sides), Object.values(sides)];
  const heads = ["CPU ms", "wall ms"].flatMap((unit) => names.map((name) => `${name}, ${unit}`));
  const row = (stage) => ["cpu", "wall"].flatMap((what) => measured.map((side) => spread(side[stage][what])));
  return [["", ...heads], ...Object.keys(measured[0]).map((stage) => [stage, ...row(stage)])];
}

const spread = ({ median, low, high }) => `${median.toFixed(1)} (${low.toFixed(1)}–${high.toFixed(1)})`;

/** Returns the composition of the wasm; parts with less than a hundredth of the code are summed up. */
export function sizeRows({ sections, code }) {
  const isTold = ({ bytes }) => bytes > sections.code / 100;
  const few = code.filter((origin) => !isTold(origin));
  const sum = (what) => few.reduce((total, origin) => total + origin[what], 0);
  const others = { name: `${few.length} others`, bytes: sum("bytes"), functions: sum("functions") };
  const rows = [...code.filter(isTold), others].map(({ name, bytes, functions }) => [name, kib(bytes), String(functions)]);
  const all = String(code.reduce((total, { functions }) => total + functions, 0));
  const parts = [["all code", kib(sections.code), all], ["data", kib(sections.data), ""], ["tables, types and names", kib(sections.other), ""], ["the whole wasm", kib(sections.total), ""]];
  return [["", "KiB", "functions"], ...rows, ...parts];
}

const kib = (bytes) => (bytes / 1024).toFixed(1);
