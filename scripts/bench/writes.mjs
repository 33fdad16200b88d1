// `npm run bench -- --writes`: measures writes to a large registry. docs/performance.md explains the results.
import { writeFile } from "node:fs/promises";

import { say, step } from "../lib/step.mjs";
import { measureGigabyte } from "./writes/gigabyte.mjs";
import { measurePublishing } from "./writes/publish.mjs";
import { measureReindexing } from "./writes/reindex.mjs";
import { estimate, gigabyteTable, publishTable, reindexTable, uploadTable } from "./writes/report.mjs";
import { Storage } from "./writes/servers.mjs";
import { measureUploads } from "./writes/upload.mjs";

const EFFORTS = {
  whole: {
    publishing: [1, 100, 1_000, 5_000],
    shapes: [
      { packages: 5, versions: 100 },
      { packages: 10, versions: 100 },
      { packages: 1, versions: 1_000 },
    ],
    // 1 GB, and a tenth of that.
    mebibytes: [95, 954],
    platformMebibytes: 30,
  },
  quick: {
    publishing: [1, 200],
    shapes: [
      { packages: 2, versions: 10 },
      { packages: 4, versions: 10 },
    ],
    mebibytes: [16, 128],
    platformMebibytes: 2,
  },
};

/** The operations of a step: the default, and the maximum that can be configured. */
const BUDGETS = [40, 800];

/** The size for which a reindex is estimated. */
const WANTED = { packages: 5_000, versions: 100 };

const PARTS = {
  publish: {
    title: (effort) => `publishing version ${effort.publishing.join(", ")} of a provider`,
    measure: (storage, effort) => measurePublishing(storage, effort.publishing),
    tables: (measured) => [publishTable(measured)],
  },
  reindex: {
    title: (effort) => `reindexing ${effort.shapes.map(({ packages, versions }) => `${packages} × ${versions}`).join(", ")} versions`,
    measure: (storage, effort) => measureReindexing(storage, effort.shapes, BUDGETS),
    tables: (measured) => [reindexTable(measured), estimate(measured, WANTED)],
  },
  upload: {
    title: (effort) => `publishing zips of ${effort.platformMebibytes} MiB by the command`,
    measure: (storage, effort, program) => measureUploads(storage, effort.platformMebibytes, program),
    tables: (measured) => [uploadTable(measured)],
  },
  gigabyte: {
    title: (effort) => `moving archives of ${effort.mebibytes.join(" and ")} MiB`,
    measure: (storage, effort) => measureGigabyte(storage, effort.mebibytes),
    tables: (measured) => [gigabyteTable(measured)],
  },
};

/** Measures the parts with `only` in their names, and prints them. */
export async function benchWrites({ quick, only, json, program }) {
  const effort = quick ? EFFORTS.quick : EFFORTS.whole;
  const figures = {};
  const storage = await Storage.start();
  try {
    for (const [name, { title, measure, tables }] of Object.entries(PARTS)) {
      if (!name.includes(only)) continue;
      figures[name] = await step(title(effort), () => measure(storage, effort, program));
      for (const table of tables(figures[name])) say(`\n${table}\n`);
    }
  } finally {
    await storage.stop();
  }
  if (json) await writeFile(json, JSON.stringify({ quick, node: process.version, ...figures }, null, 2));
}
