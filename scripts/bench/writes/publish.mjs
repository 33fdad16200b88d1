// Measures the publishing of a provider version, by the number of existing versions.
import { provider } from "../../../tests/clients/support/releases.mjs";
import { isolatePeak, isolateTime } from "./isolate.mjs";
import { PLATFORMS, restore, template } from "./seed.mjs";

/** The number of publishes per measurement; their median CPU time and duration count. */
const TIMES = 5;

/** Publishes the n-th version for each `n` of `sizes`, with both kinds of archive URLs. */
export async function measurePublishing(storage, sizes) {
  const measured = [];
  for (const n of sizes) {
    await restoreOlder(storage, n);
    for (const mode of ["presigned", "worker"]) measured.push(await measureNth(storage, n, mode));
  }
  return measured;
}

async function restoreOlder(storage, n) {
  const { presigned, stop } = await storage.registries();
  const document = await template(presigned, storage.key);
  await restore(presigned, { addresses: ["presigned", "worker"].map((mode) => addressOf(n, mode)), count: n - 1, document });
  await stop();
}

const addressOf = (n, mode) => `acme/${mode}${n}`;

/** Publishes in a new process that has already published another provider. */
async function measureNth(storage, n, mode) {
  const registries = await storage.registries({ inspect: true });
  const registry = registries[mode];
  const release = (type, patch) => provider({ address: `acme/${type}`, version: `2.0.${patch}`, key: storage.key, platforms: PLATFORMS });
  try {
    for (let time = 0; time < TIMES; time += 1) await registry.publishes(release(`warm-${mode}${n}`, time));
    const wasm = await registry.wasmBytes();
    const runs = [];
    // The first version of a provider needs a new provider each time.
    const publishNext = async (time) => {
      const next = await release(n === 1 ? `${mode}${n}-${time}` : `${mode}${n}`, time);
      return () => publish(registry, next);
    };
    for (let time = 0; time < TIMES; time += 1) runs.push(await registry.measured(await publishNext(time)));
    const rounds = await registry.inARow(await publishNext(TIMES));
    const isolate = await isolateTime(registry, await publishNext(TIMES + 1));
    const heap = await isolatePeak(registry, await publishNext(TIMES + 2));
    const middle = (name) => runs.map((run) => run[name]).sort((a, b) => a - b)[TIMES >> 1];
    const [{ result: requests, operations, received, sent }] = runs;
    return {
      ...{ n, mode, requests, operations, rounds: Math.round(rounds) },
      ...{ cpu: middle("cpu"), isolate, heap, ms: middle("ms"), written: received, read: sent },
      wasm: { before: wasm, after: runs.at(-1).wasm },
      resident: Math.max(...runs.map(({ resident }) => resident.peak)),
    };
  } finally {
    await registries.stop();
  }
}

/** Publishes, and returns the number of requests that the registry itself received. */
async function publish(registry, release) {
  const before = registry.requests;
  await registry.publishes(release);
  const uploads = registry.name === "worker" ? release.archives.size : 0;
  return registry.requests - before + uploads;
}
