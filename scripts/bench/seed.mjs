// The test data: indices that the Worker itself has built from releases, exported from the simulator.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { Cleanup, temporaryDirectory } from "../lib/cleanup.mjs";
import { root } from "../lib/paths.mjs";
import { unlessCurrent } from "../lib/stamp.mjs";
import { step } from "../lib/step.mjs";
import { mirrored, module, provider, saying } from "../../tests/clients/support/releases.mjs";
import { newKey } from "../../tests/clients/support/signing.mjs";
import { createToken } from "../../tests/clients/support/tokens.mjs";
import { WatchedRegistry } from "../../tests/clients/support/watched.mjs";
import { MIRRORED, module as moduleOf, NEWEST, older, PLATFORMS, provider as providerOf, SIZES, SUBDIR } from "./packages.mjs";

/** The metadata of a published release in the bucket, as far as lists use it. */
const METADATA = { protocols: "5.0,6.0", platforms: PLATFORMS, contents: "0123456789" };

const OUTPUT = ".terrace/bench/indices.json";

/** Returns all indices as in KV: `{ key, text, metadata }`. They are cached for the same build of the Worker. */
export async function indices() {
  const inputs = ["build/index.js", "build/wasm.js", "build/index_bg.wasm", "scripts/bench/seed.mjs", "scripts/bench/packages.mjs"];
  await unlessCurrent("bench-indices", { inputs, outputs: [OUTPUT] }, () =>
    step("publishing the test data", async () => {
      await mkdir(dirname(join(root, OUTPUT)), { recursive: true });
      await writeFile(join(root, OUTPUT), JSON.stringify(await published()));
    }),
  );
  return JSON.parse(await readFile(join(root, OUTPUT), "utf8"));
}

async function published() {
  const cleanup = new Cleanup();
  const registry = new WatchedRegistry({ vars: { TERRACE_LOG_REQUESTS: "none" } });
  try {
    await registry.start(cleanup, { quick: true });
    const key = await newKey(temporaryDirectory(cleanup));
    await registry.trusts("acme", key);
    for (const n of SIZES) await publish(registry, n, key);
    const { id } = await createToken(registry, "read");
    await registry.admin("DELETE", `/admin/v1/tokens/${id}`);
    return await registry.indices();
  } finally {
    await cleanup.run();
  }
}

/** Publishes the newest version; for the others, only the metadata for lists is written. */
async function publish(registry, n, key) {
  const [ofProvider, ofModule] = [providerOf(n), moduleOf(n)];
  await registry.store([
    ...listed(`releases/providers/hosted/${ofProvider}`, n),
    ...listed(`releases/providers/${MIRRORED}/${ofProvider}`, n),
    ...listed(`releases/modules/${ofModule}`, n),
  ]);
  const release = async () => hashed(await provider({ address: ofProvider, version: NEWEST, key, platforms: PLATFORMS.split(",") }));
  const files = { [`${SUBDIR}/main.tf`]: saying(ofModule)["main.tf"] };
  await registry.publishes(
    release(),
    mirrored(MIRRORED, key, release()),
    module({ address: ofModule, version: NEWEST, files, format: "tar.gz", subdir: SUBDIR }),
  );
}

/** Returns the release with an `h1:` hash for each package, as `terrace publish` sends it. The value does not matter here. */
function hashed({ body, ...rest }) {
  const packages = body.packages.map((it) => ({ ...it, h1: `h1:${Buffer.from(it.sha256, "hex").toString("base64")}` }));
  return { ...rest, body: { ...body, packages } };
}

const listed = (prefix, n) => older(n).map((version) => ({ key: `${prefix}/${version}`, text: "{}", metadata: METADATA }));
