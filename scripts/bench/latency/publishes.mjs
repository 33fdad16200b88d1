// How long publishes take at a distance from storage. The publisher is near the registry, and the uploads, which go to the bucket,
// take no time: bandwidth decides about them.
import { module, provider, saying } from "../../../tests/clients/support/releases.mjs";
import { PLATFORMS } from "../writes/seed.mjs";
import { NO_DELAY, storageDelays } from "./profiles.mjs";
import { inARow } from "./sequence.mjs";

/** The operations of one request that the platform performs at once (platform limits, "simultaneous open connections"). */
const AT_ONCE = 6;

const providerOf = (platforms) => (name, key) => provider({ address: `acme/${name}`, version: "1.0.0", key, platforms });

/** The releases by name: functions from the name of a package and the signing key. */
const RELEASES = {
  [`a provider of ${PLATFORMS.length} platforms`]: providerOf(PLATFORMS),
  "a provider of 1 platform": providerOf(PLATFORMS.slice(0, 1)),
  "a module": (name) => module({ address: `acme/${name}/aws`, version: "1.0.0", files: saying(name) }),
};

/** Publishes the first version of a package of each kind, in each profile. */
export async function measurePublishes(storage, profiles, counted) {
  const { presigned, stop } = await storage.registries();
  try {
    await presigned.publishes(providerOf(PLATFORMS)("before", storage.key));
    const measured = [];
    for (const [at, [release, make]] of Object.entries(RELEASES).entries()) {
      const row = { release, ms: {} };
      for (const [number, [name, profile]] of Object.entries(profiles).entries()) {
        const made = await make(`published${at}-${number}`, storage.key);
        await storage.set({ delays: storageDelays(profile), atOnce: AT_ONCE });
        await storage.counts();
        const began = performance.now();
        await presigned.publishes(made);
        row.ms[name] = performance.now() - began;
        const { times } = await storage.counts();
        if (name === counted) Object.assign(row, { operations: times.length, operationsInARow: inARow(times) });
        await storage.set({ delays: storageDelays(NO_DELAY) });
      }
      measured.push(row);
    }
    return measured;
  } finally {
    await stop();
  }
}
