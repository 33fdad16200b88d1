// `npm run bench -- --latency`: how long clients take to initialise projects, at a distance from the registry, from its bucket and
// from its storage. docs/performance.md explains the results.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isOnPath } from "../lib/run.mjs";
import { say, step } from "../lib/step.mjs";
import { ensureCertificates } from "../lib/tls.mjs";
import { writeLatency } from "./document.mjs";
import { openFront } from "./latency/front.mjs";
import { NO_DELAY, PROFILES, storageDelays } from "./latency/profiles.mjs";
import { Project, PROJECTS, releases } from "./latency/projects.mjs";
import { measurePublishes } from "./latency/publishes.mjs";
import { latencyRows, publishRows } from "./latency/report.mjs";
import { inARow } from "./latency/sequence.mjs";
import { aligned } from "./report.mjs";
import { directory, Storage } from "./writes/servers.mjs";
import { S3 } from "./writes/storage.mjs";

const CLIENTS = ["terraform", "tofu"];

/** The download modes of Terrace, by the names of their deployments. */
const MODES = ["presigned", "worker"];

/** The registry that answers with the same bytes as the mode `worker`, from files where the bucket is. */
const STATIC = "static files";

/** The operations of all requests together are not limited: each request has its own limit on the platform. */
const AT_ONCE = 1_000;

/** The counts are those of this profile: with long delays, operations that could overlap do. */
const COUNTED = "other continent";

/** Measures the projects with `only` in their names, and prints the results. */
export async function benchLatency({ only, json, document }) {
  const clients = CLIENTS.filter(isOnPath);
  if (clients.length === 0) throw new Error(`none of ${CLIENTS.join(", ")} is on PATH`);
  const wanted = Object.entries(PROJECTS).filter(([name]) => name.includes(only));
  const storage = await Storage.start();
  const fronts = [];
  try {
    const sites = await step("publishing the packages", () => openSites(storage, fronts));
    const measured = [];
    for (const client of clients) {
      for (const site of sites) {
        const title = `${client} init from ${site.name}`;
        await step(title, async () => {
          for (const [project, text] of wanted) measured.push(...(await measureProject({ client, site, storage, project, text })));
        });
      }
    }
    const published = await step("publishing at a distance from storage", () => measurePublishes(storage, PROFILES, COUNTED));
    const tables = [latencyRows(measured, Object.keys(PROFILES)), publishRows(published, Object.keys(PROFILES))];
    for (const table of tables) say(`\n${aligned(table)}\n`);
    if (json) await writeFile(json, JSON.stringify({ profiles: PROFILES, measured, published }, null, 2));
    if (document) await writeLatency(tables);
  } finally {
    for (const front of fronts) front.stop();
    await storage.stop();
  }
}

/** Publishes everything, and opens each registry: `{ name, edge, bucket }`, its fronts. */
async function openSites(storage, fronts) {
  const certificates = await ensureCertificates(join(directory, "certificates"));
  const open = async (options) => {
    const front = await openFront({ ...options, certificates });
    fronts.push(front);
    return front;
  };
  const bucket = await open({ port: storage.port });
  const registries = await storage.registries({ s3Endpoint: `${bucket.origin}${S3}` });
  await registries.worker.trusts("acme", storage.key);
  for (const release of releases(storage.key)) await registries.worker.publishes(release);
  const sites = [];
  for (const mode of MODES) sites.push({ name: mode, edge: await open({ port: new URL(registries[mode].url).port }), bucket, certificates });
  const recorded = sites.find(({ name }) => name === "worker");
  const replays = await record(recorded);
  const files = await open({ replays });
  for (const [path, answer] of replays) replays.set(path, movedTo(files.origin, answer, recorded.edge.origin));
  return [...sites, { name: STATIC, edge: files, bucket: null, certificates }];
}

/** Returns an answer with the URLs of another origin. */
function movedTo(origin, { status, headers, body }, from) {
  const moved = (text) => text.replaceAll(from, origin);
  const isJson = headers["content-type"]?.startsWith("application/json");
  const named = Object.entries(headers).map(([name, value]) => [name, moved(value)]);
  return { status, headers: Object.fromEntries(named), body: isJson ? Buffer.from(moved(body.toString())) : body };
}

/** Returns the answers of a registry to the requests of all projects, by path. */
async function record(site) {
  const { edge } = site;
  edge.recording.clear();
  const [client] = CLIENTS.filter(isOnPath);
  // The first project is a part of the second one: its answers would have other URLs.
  for (const text of Object.values(PROJECTS).slice(1)) await (await initOf(client, site, text)).init();
  return new Map(edge.recording);
}

/** Returns the project, before its first `init`. */
async function initOf(client, { edge, certificates }, text) {
  return Project.create(client, join(directory, "project"), { text: text(new URL(edge.origin).host), caBundle: certificates.caBundle });
}

/** Measures a project with empty caches, and again in the same directory. */
async function measureProject({ client, site, storage, project, text }) {
  const rows = ["empty", "warm"].map((caches) => ({ client, registry: site.name, project, caches, ms: {} }));
  for (const [name, profile] of Object.entries(PROFILES)) {
    await place(site, storage, profile);
    const made = await initOf(client, site, text);
    for (const row of rows) {
      await forget(site, storage);
      row.ms[name] = await made.init();
      if (name === COUNTED) Object.assign(row, await counted(site, storage));
    }
  }
  await place(site, storage, NO_DELAY);
  return rows;
}

/** Puts the client, the registry and the bucket at their distances. */
async function place({ edge, bucket }, storage, profile) {
  edge.distance.roundTrip = bucket ? profile.edge : profile.bucket;
  if (bucket) bucket.distance.roundTrip = profile.bucket;
  await storage.set({ delays: storageDelays(profile), atOnce: AT_ONCE });
}

async function forget({ edge, bucket }, storage) {
  for (const front of [edge, bucket].filter(Boolean)) Object.assign(front, { times: [] }).distance.connections = 0;
  await storage.counts();
}

/** Returns the requests and operations since the last `forget`, and how many of them follow each other. */
async function counted({ edge, bucket }, storage) {
  const fronts = [edge, bucket].filter(Boolean);
  const requests = fronts.flatMap(({ times }) => times);
  const { times: operations } = await storage.counts();
  return {
    requests: requests.length,
    requestsInARow: inARow(requests),
    connections: fronts.reduce((sum, { distance }) => sum + distance.connections, 0),
    operations: operations.length,
    operationsInARow: inARow(operations),
  };
}
