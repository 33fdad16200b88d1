// Four registries and their monthly activity, on which docs/cost.md is based. All figures are assumptions;
// replace them with your own.

/** The CPU time of a request, in milliseconds, above the measured values; a publish unpacks and verifies. */
export const CPU_OF_A_REQUEST = 2;
export const CPU_OF_A_PUBLISH = 200;

/** The bytes of one version in KV: its documents and manifests, and its part of the lists. */
export const KV_OF_A_VERSION = 40_000;

const DAYS = 30;
const WORKDAYS = 22;

/**
 * - `actions`: the number of each per month;
 * - `versions`: the number of stored versions, of providers and of modules;
 * - `gigabytes`: the size of their archives;
 * - `isolates`: the number of isolates in which the Worker runs permanently, each of which reads the revoked tokens and erased
 *   digests every 10 seconds; 0 if nothing is private and only the mirror is used: then neither is checked.
 */
export const SHAPES = [
  {
    name: "A team of 10",
    what:
      "Private. Each of 10 people runs `init` 5 times a working day, CI 50 times a day, in directories with 3 providers and " +
      "4 modules, without caches. 20 versions of modules and 4 of providers, for 15 platforms each, are published " +
      "a month; 100 versions of each are stored, of 15 MB a platform.",
    actions: {
      init_provider: (10 * 5 * WORKDAYS + 50 * DAYS) * 3,
      install_module: (10 * 5 * WORKDAYS + 50 * DAYS) * 4,
      publish_module: 20,
      publish_provider: 4,
      page: 300,
    },
    versions: 200,
    gigabytes: 100 * 15 * 0.015 + 100 * 0.0001,
    isolates: 1,
  },
  {
    name: "A company of 2,000 with CI",
    what:
      "Private. 20,000 runs of CI a working day and 2,000 people who run `init` twice, with 8 providers from the mirror and " +
      "10 modules each, without caches. 3,000 versions of modules, 100 of own and 400 of mirrored providers are " +
      "published a month; 30,000 versions of modules of 100 kB and 3,000 of providers with 5 platforms of 30 MB are stored.",
    actions: {
      mirror_install: (20_000 + 2_000 * 2) * WORKDAYS * 8,
      install_module: (20_000 + 2_000 * 2) * WORKDAYS * 10,
      publish_module: 3_000,
      publish_provider: 100,
      publish_mirrored: 400,
      page: 20_000,
    },
    versions: 33_000,
    gigabytes: 30_000 * 0.0001 + 3_000 * 5 * 0.03,
    isolates: 20,
  },
  {
    name: "A public registry with 50 million downloads",
    what:
      "50 million installations of a provider a month by `init`, each with its own discovery, and three times as many `init` " +
      "with the provider already installed. 500 providers with 100 versions for 15 platforms of 10 MB are stored; 500 versions of them are " +
      "published a month.",
    actions: { init_provider: 50e6, init_installed: 150e6, publish_provider: 500, page: 1e6 },
    versions: 50_000,
    gigabytes: 500 * 100 * 15 * 0.01,
    isolates: 20,
  },
  {
    name: "A mirror of 5,000 providers",
    what:
      "Public. 20 versions of each, for 3 platforms of 25 MB; 5,000 versions are added a month, and providers are installed 5 " +
      "million times.",
    actions: { mirror_install: 5e6, publish_mirrored: 5_000, page: 10_000 },
    versions: 100_000,
    gigabytes: 5_000 * 20 * 3 * 0.025,
    isolates: 0,
  },
];

/**
 * The monthly number of steps of the periodic repair, and its operations if it always has something to visit: a step stores
 * its position twice, and lists; the KV operations are the repair's share of the free plan (`limits.rs`).
 */
export const REPAIRS = 60 * 24 * DAYS;
export const REPAIR_USAGE = { r2A: 300_000, r2B: 900_000 + REPAIRS, kvReads: 25_000 * DAYS, kvLists: 250 * DAYS };

/** The monthly number of times that a busy isolate reads the revoked tokens. */
export const REVOCATION_READS = (DAYS * 24 * 3600) / 10;
