// The output of a benchmark.

const HEADS = ["", "CPU µs", "floor µs", "ratio", "spread", "req/s", "p50 ms", "p99 ms", "B answered"];

/** Returns the table, with one line per case, all of one run. */
export const table = (cases) =>
  aligned([
    HEADS,
    ...cases.map(({ name, answered, measured: { ours, floor, ratio } }) => [
      name,
      whole(ours.cpu),
      whole(floor.cpu),
      ratio.median.toFixed(2),
      `${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)}`,
      whole(ours.rate),
      ours.p50.toFixed(1),
      ours.p99.toFixed(1),
      String(answered),
    ]),
  ]);

/** Returns the table of the stages of a start, with the CPU time of each side, then its wall time. */
export function startTable(sides) {
  const [names, measured] = [Object.keys(sides), Object.values(sides)];
  const heads = ["CPU ms", "wall ms"].flatMap((unit) => names.map((name) => `${name}, ${unit}`));
  const row = (stage) => ["cpu", "wall"].flatMap((what) => measured.map((side) => spread(side[stage][what])));
  return aligned([["", ...heads], ...Object.keys(measured[0]).map((stage) => [stage, ...row(stage)])]);
}

const spread = ({ median, low, high }) => `${median.toFixed(1)} (${low.toFixed(1)}–${high.toFixed(1)})`;

/** Returns the output of `--json`; `isolate` has the figures of a new isolate. */
export function asJson(cases, { rounds, ms }, isolate) {
  const shown = cases.map(({ name, route, n, mode, status, hasToken, answered, measured }) => {
    return { name, route, versions: n, mode, status, token: hasToken, answered, ...measured };
  });
  return JSON.stringify({ rounds, ms, node: process.version, cases: shown, ...isolate }, null, 2);
}

const whole = (value) => value.toFixed(0);

/** Returns a table whose first column is text and whose other columns are numbers. */
function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) => row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join("  ");
  return rows.map(line).join("\n");
}
