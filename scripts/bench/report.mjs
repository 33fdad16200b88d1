// The output of a benchmark.

export const heads = ["", "CPU µs", "floor µs", "ratio", "spread", "req/s", "p50 ms", "p99 ms", "KV", "R2", "B into wasm", "crossings", "B answered"];

/** Returns the table, with one line per case, all of one run. */
export const table = (cases) => aligned([heads, ...rows(cases)]);

export const rows = (cases) =>
  cases.map(({ name, answered, cost, measured: { ours, floor, ratio } }) => [
    name,
    whole(ours.cpu),
    whole(floor.cpu),
    ratio.median.toFixed(2),
    `${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)}`,
    whole(ours.rate),
    ours.p50.toFixed(1),
    ours.p99.toFixed(1),
    String(cost.kv),
    String(cost.r2),
    String(cost.copied),
    String(cost.calls),
    String(answered),
  ]);

/**
 * Returns the table of another registry. In each pair, the first figure is its own and the second Terrace's,
 * if that was measured. If Terrace has another number of versions, it is in brackets.
 */
export function peerTable({ measured, skipped }) {
  const pair = (own, other) => (other === undefined ? own : `${own} / ${other}`);
  const rows = measured.map(({ name, versions, status, bytes, peer, terrace, ratio }) => [
    terrace?.versions && versions !== terrace.versions ? `${name} (${terrace.versions})` : name,
    String(status),
    pair(known(peer.cpu, whole), terrace && known(terrace.cpu, whole)),
    ratio ? ratio.median.toFixed(2) : "–",
    ratio ? `${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)}` : "–",
    pair(whole(peer.rate), terrace && whole(terrace.rate)),
    pair(peer.p50.toFixed(1), terrace?.p50.toFixed(1)),
    pair(peer.p99.toFixed(1), terrace?.p99.toFixed(1)),
    pair(String(bytes), terrace && String(terrace.bytes)),
  ]);
  const heads = ["", "status", "CPU µs", "ratio", "spread", "req/s", "p50 ms", "p99 ms", "B answered"];
  return [aligned([heads, ...rows]), ...reasons(skipped)].join("\n");
}

/** Returns each reason once, with its paths. */
function reasons(skipped) {
  const paths = new Map();
  for (const { name, path, reason } of skipped) {
    const told = `${name}: ${reason}`;
    paths.set(told, [...(paths.get(told) ?? []), path]);
  }
  return [...paths].map(([told, of]) => `not measured: ${told} (${of.join(", ")})`);
}

const known = (value, shown) => (value === null ? "–" : shown(value));

/** Returns the output of `--json`; `isolate` has the figures of a new isolate. */
export function asJson(cases, { rounds, ms }, isolate) {
  const shown = cases.map(({ name, route, n, mode, status, hasToken, answered, cost, floorCost, measured }) => {
    return { name, route, versions: n, mode, status, token: hasToken, answered, cost, floorCost, ...measured };
  });
  return JSON.stringify({ rounds, ms, node: process.version, cases: shown, ...isolate }, null, 2);
}

const whole = (number) => number.toFixed(0);

/** Returns a table whose first column is text and whose other columns are numbers. */
export function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) => row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join("  ");
  return rows.map(line).join("\n");
}
