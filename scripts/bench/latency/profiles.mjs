// The delays of the benchmark, in milliseconds, and where they come from.

/**
 * The round-trip time between a client and Cloudflare: Cloudflare states 50 ms for 95 % of the people with Internet access, as
 * the upper bound (https://www.cloudflare.com/network/).
 */
const EDGE_MS = 20;

/**
 * The round-trip time between continents: that of regions in Europe and South-East Asia
 * (https://learn.microsoft.com/azure/networking/azure-network-latency).
 */
const CONTINENTS_MS = 160;

/** A read that KV answers from its cache: below a millisecond for half of all reads (https://blog.cloudflare.com/faster-workers-kv/). */
const HOT_KV_MS = 1;

/**
 * The 99th percentile of KV's reads in regions that have not read the key
 * (https://developers.cloudflare.com/changelog/post/2025-08-22-kv-performance-improvements/).
 */
const COLD_KV_MS = 250;

/** An operation of R2 in the region of the Worker. R2 publishes no figure: this is the estimate of the benchmark of writes. */
const R2_MS = 30;

/** A write to KV goes to its central stores. KV publishes no figure, so it takes as long as an operation of R2. */
const KV_WRITE_MS = R2_MS;

/**
 * The profiles, by name: `edge` and `bucket` are the round-trip times of the client to the registry and to the bucket, and the others
 * the durations of storage operations. A registry without an edge is where the bucket is.
 */
export const PROFILES = {
  "same region": { edge: EDGE_MS, bucket: EDGE_MS, kvRead: HOT_KV_MS, kvWrite: KV_WRITE_MS, r2: R2_MS },
  "other continent": { edge: EDGE_MS, bucket: CONTINENTS_MS, kvRead: HOT_KV_MS, kvWrite: KV_WRITE_MS + CONTINENTS_MS, r2: R2_MS + CONTINENTS_MS },
  "cold KV": { edge: EDGE_MS, bucket: CONTINENTS_MS, kvRead: COLD_KV_MS, kvWrite: KV_WRITE_MS + CONTINENTS_MS, r2: R2_MS + CONTINENTS_MS },
};

/** The delays of storage in a profile, as `control` of storage.mjs takes them. */
export const storageDelays = ({ kvRead, kvWrite, r2 }) => ({ "KV get": kvRead, "KV get (many)": kvRead, "KV put": kvWrite, "KV delete": kvWrite, "KV list": kvWrite, R2: r2 });

export const NO_DELAY = { edge: 0, bucket: 0, kvRead: 0, kvWrite: 0, r2: 0 };
