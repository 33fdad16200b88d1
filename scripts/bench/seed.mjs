// What is measured: indices that the Worker itself has made of releases, taken out of the simulator.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { root } from "../lib/paths.mjs";
import { unlessCurrent } from "../lib/stamp.mjs";
import { step } from "../lib/step.mjs";
import { mirrored, module, provider, saying } from "../../tests/clients/support/releases.mjs";
import { scratch } from "../../tests/clients/support/scratch.mjs";
import { newKey } from "../../tests/clients/support/signing.mjs";
import { createToken } from "../../tests/clients/support/tokens.mjs";
import { WatchedRegistry } from "../../tests/clients/support/watched.mjs";
import { MIRRORED, module as moduleOf, NEWEST, provider as providerOf, SIZES } from "./packages.mjs";

/** What providers are usually built for. */
const PLATFORMS =
  "darwin_amd64,darwin_arm64,freebsd_386,freebsd_amd64,freebsd_arm,freebsd_arm64,linux_386,linux_amd64,linux_arm,linux_arm64,windows_386,windows_amd64,windows_arm64";

/** What a release that was published leaves in the bucket, as far as lists need it. */
const METADATA = { protocols: "5.0,6.0", platforms: PLATFORMS, contents: "0123456789" };

/** Where in its archive the module is. */
const SUBDIR = "modules/main";

const OUTPUT = ".terrace/bench/indices.json";

/** All indices, as KV has them: `{ key, text, metadata }`. The same Worker is not asked twice. */
export async function indices() {
  const inputs = ["build/index.js", "build/wasm.js", "build/index_bg.wasm", "scripts/bench/seed.mjs", "scripts/bench/packages.mjs"];
  await unlessCurrent("bench-indices", { inputs, outputs: [OUTPUT] }, () =>
    step("publishing what is to be read", async () => {
      await mkdir(dirname(join(root, OUTPUT)), { recursive: true });
      await writeFile(join(root, OUTPUT), JSON.stringify(await published()));
    }),
  );
  return JSON.parse(await readFile(join(root, OUTPUT), "utf8"));
}

async function published() {
  const ends = [];
  const directory = scratch({ after: (end) => ends.push(end) }, { quick: true });
  const registry = new WatchedRegistry({ vars: { TERRACE_LOG_REQUESTS: "none" } });
  try {
    await registry.start(directory);
    const key = await newKey(join(directory, "key"));
    await registry.trusts("acme", key);
    for (const n of SIZES) await publish(registry, n, key);
    const { id } = await createToken(registry, "read");
    await registry.admin("DELETE", `/admin/v1/tokens/${id}`);
    return await registry.indices();
  } finally {
    await registry.stop();
    for (const end of ends) end();
  }
}

/** The newest version is published; of the others there is what a list is made of. */
async function publish(registry, n, key) {
  const [ofProvider, ofModule] = [providerOf(n), moduleOf(n)];
  await registry.store([
    ...older(`releases/providers/hosted/${ofProvider}`, n),
    ...older(`releases/providers/${MIRRORED}/${ofProvider}`, n),
    ...older(`releases/modules/${ofModule}`, n),
  ]);
  const release = () => provider({ address: ofProvider, version: NEWEST, key, platforms: PLATFORMS.split(",") });
  const files = { [`${SUBDIR}/main.tf`]: saying(ofModule)["main.tf"] };
  await registry.publishes(
    release(),
    mirrored(MIRRORED, key, release()),
    module({ address: ofModule, version: NEWEST, files, format: "tar.gz", subdir: SUBDIR }),
  );
}

const older = (prefix, n) =>
  Array.from({ length: n - 1 }, (_, patch) => ({ key: `${prefix}/1.0.${patch}`, text: "{}", metadata: METADATA }));
