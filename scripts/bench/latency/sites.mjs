// The measured registries: the deployments of Terrace, the same answers as files, and boring-registry.
import { join } from "node:path";

import { ensureCertificates } from "../../lib/tls.mjs";
import { S3 } from "../writes/storage.mjs";
import { startBoring } from "./boring.mjs";
import { openFront } from "./front.mjs";
import { BESIDE_MS, cachedDelays, NO_DELAY, storageDelays } from "./profiles.mjs";
import { Project, PROJECTS, releases } from "./projects.mjs";
import { inARow } from "./sequence.mjs";

/** The operations of all requests together are not limited: each request has its own limit on the platform. */
const AT_ONCE = 1_000;

/** The deployments of Terrace by the names of their sites, with the delays of their storage. */
const DEPLOYMENTS = {
  presigned: { kind: "presigned", delays: storageDelays },
  worker: { kind: "worker", delays: storageDelays },
  "edge, not cached": { kind: "edge", delays: storageDelays },
  "edge, cached": { kind: "edge", delays: cachedDelays },
};

/**
 * A registry as its clients see it: `front` is its own, at the edge or where the bucket is, and `bucket` that of the bucket, if clients
 * reach it. `ways` has `delay`, which sets the durations of storage operations in a profile, and `times`, which returns the begins
 * and ends of these operations since the last call.
 */
class Site {
  constructor({ name, front, bucket = null, isAtEdge = false, certificates, ways = { delay() {}, times: () => [] } }) {
    Object.assign(this, { name, front, bucket, isAtEdge, certificates, ways });
  }

  get #fronts() {
    return [this.front, this.bucket].filter(Boolean);
  }

  /** Puts the client, the registry and the bucket at their distances. */
  async place(profile) {
    this.front.distance.roundTrip = this.isAtEdge ? profile.edge : profile.bucket;
    if (this.bucket) this.bucket.distance.roundTrip = profile.bucket;
    await this.ways.delay(profile);
  }

  /** Returns the project of a client, before its first `init`. */
  project(client, text, directory) {
    const { host } = new URL(this.front.origin);
    return Project.create(client, join(directory, "project"), { text: text(host), caBundle: this.certificates.caBundle });
  }

  async forget() {
    for (const front of this.#fronts) Object.assign(front, { times: [] }).distance.connections = 0;
    await this.ways.times();
  }

  /** Returns the requests and operations since the last `forget`, and how many of them follow each other. */
  async counted() {
    const requests = this.#fronts.flatMap(asSeenByClients);
    const operations = await this.ways.times();
    return {
      requests: requests.length,
      requestsInARow: inARow(requests),
      connections: this.#fronts.reduce((sum, { distance }) => sum + distance.connections, 0),
      operations: operations.length,
      operationsInARow: inARow(operations),
    };
  }
}

/**
 * Returns the begins and ends of a front's requests as its clients see them, but for a tenth of the distance, because timers are not
 * exact: concurrent requests whose answers take no time overlap only there.
 */
function asSeenByClients({ times, distance }) {
  const away = (0.9 * distance.roundTrip) / 2;
  return times.map(([began, ended]) => [began - away, ended + away]);
}

/** Publishes everything, and opens each registry for a client. `boring` is the program of boring-registry, if it is measured, too. */
export async function openSites(cleanup, { client, storage, boring, directory }) {
  const certificates = await ensureCertificates(join(directory, "certificates"));
  const open = async (options) => {
    const front = await openFront({ ...options, certificates });
    cleanup.add("closing the front of a registry", front.stop);
    return front;
  };
  const bucket = await open({ port: storage.port });
  const kinds = [...new Set(Object.values(DEPLOYMENTS).map(({ kind }) => kind))];
  const registries = await storage.registries({ kinds, s3Endpoint: `${bucket.origin}${S3}` });
  await registries.worker.trusts("acme", storage.key);
  for (const release of releases(storage.key)) await registries.worker.publishes(release);
  const sites = [];
  for (const [name, { kind, delays }] of Object.entries(DEPLOYMENTS)) {
    const front = await open({ port: new URL(registries[kind].url).port });
    const ways = { delay: (profile) => storage.set({ delays: delays(profile), atOnce: AT_ONCE }), times: async () => (await storage.counts()).times };
    sites.push(new Site({ name, front, bucket, isAtEdge: true, certificates, ways }));
  }
  const files = await openFiles(open, sites.find(({ name }) => name === "worker"), { client, directory });
  sites.push(new Site({ name: "static files", front: files, certificates }));
  if (boring) sites.push(await openBoring(cleanup, open, { program: boring, storage, directory, certificates }));
  return sites;
}

/** Opens a registry that answers with the same bytes as another one. */
async function openFiles(open, recorded, { client, directory }) {
  const { front } = recorded;
  front.recording.clear();
  // The first project is a part of the second one: its answers would have other URLs.
  for (const text of Object.values(PROJECTS).slice(1)) await (await recorded.project(client, text, directory)).init();
  const replays = new Map(front.recording);
  const files = await open({ replays });
  for (const [path, answer] of replays) replays.set(path, movedTo(files.origin, answer, front.origin));
  return files;
}

/** Returns an answer with the URLs of another origin. */
function movedTo(origin, { status, headers, body }, from) {
  const moved = (text) => text.replaceAll(from, origin);
  const isJson = headers["content-type"]?.startsWith("application/json");
  const named = Object.entries(headers).map(([name, value]) => [name, moved(value)]);
  return { status, headers: Object.fromEntries(named), body: isJson ? Buffer.from(moved(body.toString())) : body };
}

async function openBoring(cleanup, open, { program, storage, directory, certificates }) {
  const started = await startBoring(cleanup, { program, releases: releases(storage.key), publicKey: storage.key.publicKey, directory });
  const { host, port } = started.bucket;
  const bucket = await open({ port, host });
  const front = await open({ port: started.port, moved: [[`http://${host}`, bucket.origin]] });
  const ways = {
    delay: (profile) => (started.bucket.delay = profile === NO_DELAY ? 0 : BESIDE_MS),
    times: () => started.bucket.times.splice(0),
  };
  return new Site({ name: "boring-registry", front, bucket, certificates, ways });
}
