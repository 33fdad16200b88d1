// Prepares the examples for publishing. `npm start` runs it; to run it by hand: `node examples/build.mjs`.

import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { bundleProvider } from "./packaging/bundle.mjs";
import { layOutExamples } from "./packaging/lay-out.mjs";
import { rsaKey } from "./packaging/rsa-key.mjs";

const PROVIDER_DOCS = fileURLToPath(new URL("provider/docs", import.meta.url));
const MODULE_DIR = fileURLToPath(new URL("module", import.meta.url));
const DEFAULT_STATE_DIR = fileURLToPath(new URL("../.terrace", import.meta.url));

/**
 * Bundles, packs and signs the example provider under `stateDir`, and returns the packages to publish.
 *
 * @param {{ stateDir?: string, log?: (line: string) => void }} [options]
 */
export async function buildExamples({ stateDir = DEFAULT_STATE_DIR, log = () => {} } = {}) {
  const key = await rsaKey(join(stateDir, "signing"), log);
  const { text: bundle } = await bundleProvider();
  const examples = await layOutExamples({ stateDir, bundle, key, moduleDir: MODULE_DIR, log });
  return { ...examples, providerDocs: PROVIDER_DOCS };
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  console.log(await buildExamples({ log: console.error }));
}
