// `npm run bench -- --latency`: how long clients take to initialise projects, at a distance from the registry, from its bucket and
// from its storage. docs/performance.md explains the results.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { RSA } from "../../examples/packaging/signing-key.mjs";
import { Cleanup } from "../lib/cleanup.mjs";
import { isOnPath } from "../lib/run.mjs";
import { say, step } from "../lib/step.mjs";
import { writeLatency } from "./document.mjs";
import { NO_DELAY, PROFILES } from "./latency/profiles.mjs";
import { PROJECTS } from "./latency/projects.mjs";
import { measurePublishes } from "./latency/publishes.mjs";
import { latencyRows, publishRows } from "./latency/report.mjs";
import { openSites } from "./latency/sites.mjs";
import { aligned } from "./report.mjs";
import { directory, Storage } from "./writes/servers.mjs";

const CLIENTS = ["terraform", "tofu"];

/** The counts are those of this profile: with long delays, operations that could overlap do. */
const COUNTED = "other continent";

/** Measures the projects with `only` in their names, and prints the results. `boring` is the path of boring-registry, to measure it, too. */
export async function benchLatency({ only, json, document, boring }) {
  const clients = CLIENTS.filter(isOnPath);
  if (clients.length === 0) throw new Error(`none of ${CLIENTS.join(", ")} is on PATH`);
  if (boring && !isOnPath("versitygw")) throw new Error("--boring needs versitygw on PATH, which `npm test` builds: its bucket is there");
  const projects = Object.entries(PROJECTS).filter(([name]) => name.includes(only));
  // Nearly all of their time is delays, so the clients run at once, each with registries and storage of its own.
  const settled = await Promise.allSettled(clients.map((client) => measureClient(client, { projects, boring })));
  const failed = settled.find(({ status }) => status === "rejected");
  if (failed) throw failed.reason;
  const measured = settled.flatMap(({ value }) => value);
  const published = await measurePublishing();
  const tables = [latencyRows(measured, Object.keys(PROFILES)), publishRows(published, Object.keys(PROFILES))];
  for (const table of tables) say(`\n${aligned(table)}\n`);
  if (json) await writeFile(json, JSON.stringify({ profiles: PROFILES, measured, published }, null, 2));
  if (document) await writeLatency(tables);
}

/** Measures the projects of a client with all registries. */
async function measureClient(client, { projects, boring }) {
  const place = join(directory, client);
  const cleanup = new Cleanup();
  try {
    const storage = await Storage.start({ place, kind: RSA });
    cleanup.add("stopping the storage", () => storage.stop());
    const sites = await step(`publishing the packages for ${client}`, () => openSites(cleanup, { client, storage, boring, directory: place }));
    const measured = [];
    for (const site of sites) {
      await step(`${client} init from ${site.name}`, async () => {
        for (const [project, text] of projects) measured.push(...(await measureProject({ client, site, project, text, directory: place })));
      });
    }
    return measured;
  } finally {
    await cleanup.run();
  }
}

/** Measures a project with empty caches, and again in the same directory. */
async function measureProject({ client, site, project, text, directory }) {
  const rows = ["empty", "warm"].map((caches) => ({ client, registry: site.name, project, caches, ms: {} }));
  for (const [name, profile] of Object.entries(PROFILES)) {
    await site.place(profile);
    const made = await site.project(client, text, directory);
    for (const row of rows) {
      await site.forget();
      row.ms[name] = await made.init();
      if (name === COUNTED) Object.assign(row, await site.counted());
    }
  }
  await site.place(NO_DELAY);
  return rows;
}

/** Measures publishes, with nothing else beside them. */
async function measurePublishing() {
  const storage = await Storage.start();
  try {
    return await step("publishing at a distance from storage", () => measurePublishes(storage, PROFILES, COUNTED));
  } finally {
    await storage.stop();
  }
}
