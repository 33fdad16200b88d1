// The test data: indices that the Worker itself has built from releases, exported from the simulator.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { Cleanup } from "../lib/cleanup.mjs";
import { root } from "../lib/paths.mjs";
import { unlessCurrent } from "../lib/stamp.mjs";
import { step } from "../lib/step.mjs";
import { provider } from "../../tests/clients/support/releases.mjs";
import { newKey } from "../../tests/clients/support/signing.mjs";
import { WatchedRegistry } from "../../tests/clients/support/watched.mjs";
import { NEWEST, PLATFORMS, provider as named, SIZES } from "./cases.mjs";

const OUTPUT = ".terrace/bench/indices.json";

/** Returns the file with all indices as in KV, `{ key, text, metadata }`. It is kept for the same build of the Worker. */
export async function indices() {
  const file = join(root, OUTPUT);
  const inputs = ["build/index.js", "build/wasm.js", "build/index_bg.wasm", "scripts/bench/seed.mjs", "scripts/bench/cases.mjs"];
  await unlessCurrent("bench-indices", { inputs, outputs: [OUTPUT] }, () =>
    step("publishing the test data", async () => {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, JSON.stringify(await published()));
    }),
  );
  return file;
}

async function published() {
  const cleanup = new Cleanup();
  const registry = new WatchedRegistry({ vars: { TERRACE_LOG_REQUESTS: "none" } });
  try {
    await registry.start(cleanup, { quick: true });
    const key = await newKey();
    await registry.trusts("acme", key);
    for (const n of SIZES) await publish(registry, named(n), n, key);
    return await registry.indices();
  } finally {
    await cleanup.run();
  }
}

/** Publishes the newest version; for the others, only the metadata for lists is written. */
async function publish(registry, address, n, key) {
  const metadata = { protocols: "5.0,6.0", platforms: PLATFORMS, contents: "0123456789" };
  await registry.store(Array.from({ length: n - 1 }, (_, patch) => ({ key: `releases/providers/hosted/${address}/1.0.${patch}`, text: "{}", metadata })));
  const release = await provider({ address, version: NEWEST, key, platforms: PLATFORMS.split(",") });
  // `terrace publish` sends the `h1:` hash of each package. The value does not matter here.
  for (const it of release.body.packages) it.h1 = `h1:${Buffer.from(it.sha256, "hex").toString("base64")}`;
  await registry.publishes(release);
}
