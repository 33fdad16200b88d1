// The tables of the benchmark of latencies.

/** Returns the heads and the rows of a table, one row for each client, registry, project and state of the caches. */
export function latencyRows(measured, profiles) {
  const heads = ["client", "registry", "project", "caches", "requests", "in a row", "connections", "storage", "in a row", ...profiles.map((name) => `${name}, s`)];
  const rows = measured.map((it) => [
    ...[it.client, it.registry, it.project, it.caches],
    ...[it.requests, it.requestsInARow, it.connections, it.operations, it.operationsInARow].map(String),
    ...profiles.map((name) => (it.ms[name] / 1_000).toFixed(1)),
  ]);
  return [heads, ...rows];
}

/** Returns the heads and the rows of the table of publishes. */
export function publishRows(measured, profiles) {
  const heads = ["published", "storage", "in a row", ...profiles.map((name) => `${name}, s`)];
  const rows = measured.map(({ release, operations, operationsInARow, ms }) => [
    ...[release, String(operations), String(operationsInARow)],
    ...profiles.map((name) => (ms[name] / 1_000).toFixed(1)),
  ]);
  return [heads, ...rows];
}
