// The output of a benchmark of writes.
import { aligned } from "../report.mjs";

/** The operations that R2 bills as writes (class A). */
const WRITES = ["R2 put", "R2 list"];
const READS = ["R2 get", "R2 head"];
const KV_READS = ["KV get", "KV get (many)"];

/**
 * An estimate of the duration of a storage operation on the platform, in milliseconds. R2 publishes no
 * figure, and half of KV's reads that miss the edge take less
 * (https://developers.cloudflare.com/changelog/post/2025-08-22-kv-performance-improvements/).
 */
const ROUND_MS = 30;

export function publishTable(measured) {
  const heads = ["version", "URLs", "requests", "KV writes", "R2 A", "R2 B", "in a row", "CPU ms", "JS, wasm", "ms here", "wasm MB", "isolate MB", "process MB", "KB written", "KB read"];
  const rows = measured.map(({ n, mode, requests, operations, rounds, cpu, isolate, heap, ms, wasm, resident, written, read }) => [
    ...[String(n), mode === "presigned" ? "S3" : "Worker", String(requests)],
    ...[["KV put"], WRITES, READS].map((names) => String(count(operations, names))),
    ...[String(rounds), whole(cpu), whole(isolate), whole(ms), mega(wasm.after), mega(heap), mega(resident), kilo(written), kilo(read)],
  ]);
  return aligned([heads, ...rows]);
}

export function reindexTable({ walks }) {
  const heads = ["", "operations", "versions", "steps", "most in one", "a version: all", "KV reads", "KV writes", "R2 A", "R2 B", "CPU ms", "most in a step", "wasm MB"];
  const rows = walks.map(({ packages, versions, budget, state, steps, operations, total, mostOperations, cpu, mostCpu, wasm }) => {
    const each = (number) => (number / (packages * versions)).toFixed(2);
    return [
      ...[state, String(budget), `${packages} × ${versions}`, String(steps), String(mostOperations), each(total)],
      ...[KV_READS, ["KV put"], WRITES, READS].map((names) => each(count(operations, names))),
      ...[each(cpu), whole(mostCpu), mega(wasm)],
    ];
  });
  return aligned([heads, ...rows]);
}

/**
 * Estimates the cost for a registry of another size, from the largest measured one whose packages have about
 * as many versions.
 */
export function estimate({ walks, inside }, { packages, versions }) {
  const [nearest] = walks.toSorted((a, b) => distance(a, versions) - distance(b, versions) || b.packages - a.packages);
  const alike = walks.filter((it) => it.packages === nearest.packages && it.versions === nearest.versions);
  const heads = ["", "operations", "steps", "all, million", "KV writes", "in a row", `h, at ${ROUND_MS} ms each`, "CPU h", "JS, wasm h", "days, a step a minute"];
  const rows = alike.map(({ state, budget, steps, total, operations, cpu }) => {
    const whole = packages * versions;
    const times = whole / (nearest.packages * nearest.versions);
    const { rounds, isolate, ...shape } = inside[state];
    const timesInside = whole / (shape.packages * shape.versions);
    const wholeSteps = Math.ceil(steps * times);
    return [
      ...[state, String(budget), String(wholeSteps), millions(total * times), millions(count(operations, ["KV put"]) * times)],
      ...[millions(rounds * timesInside), hours(rounds * timesInside * ROUND_MS), hours(cpu * times), hours(isolate * timesInside)],
      (wholeSteps / 1_440).toFixed(1),
    ];
  });
  const title = `${packages} packages × ${versions} versions, estimated from ${nearest.packages} × ${nearest.versions}:`;
  return `${title}\n${aligned([heads, ...rows])}`;
}

const distance = (shape, versions) => Math.abs(Math.log(shape.versions / versions));

export function gigabyteTable(measured) {
  const heads = ["", "MB", "MB past the Worker", "read by it", "written by it", "CPU ms", "JS, wasm", "wasm MB", "process MB", "at most", "s here"];
  const rows = measured.map(({ way, size, past, read, written, cpu, isolate, wasm, resident, ms }) => [
    ...[way, mega(size), mega(past), mega(read), mega(written), whole(cpu), whole(isolate)],
    ...[mega(wasm), mega(resident.before), mega(resident.peak), (ms / 1000).toFixed(1)],
  ]);
  return aligned([heads, ...rows]);
}

export function uploadTable(measured) {
  const heads = ["", "network", "terrace publish, s", "curl, s", "ratio"];
  const shown = ({ median, low, high }, unit) => `${(median / unit).toFixed(2)} (${(low / unit).toFixed(2)}–${(high / unit).toFixed(2)})`;
  const rows = measured.map(({ platforms, megabytes, network, published, raw, ratio }) => [
    ...[`${platforms} × ${megabytes} MiB`, network],
    ...[shown(published, 1_000), shown(raw, 1_000), shown(ratio, 1)],
  ]);
  return aligned([heads, ...rows]);
}

const count = (operations, names) => names.reduce((sum, name) => sum + (operations[name] ?? 0), 0);
const whole = (number) => number.toFixed(0);
const millions = (number) => (number / 1e6).toFixed(2);
const hours = (ms) => (ms / 3_600_000).toFixed(1);
const kilo = (bytes) => (bytes / 1e3).toFixed(0);
const mega = (bytes) => (bytes / 1e6).toFixed(1);
