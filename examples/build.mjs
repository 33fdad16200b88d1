// Prepares the examples for publishing. `npm start` runs it; to run it by hand: `node examples/build.mjs`.

import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { fingerprintOfDirectory, fingerprintOfText } from "./packaging/fingerprint.mjs";
import { bundleProvider, isLaidOut, layOutProviderDist } from "./packaging/provider-dist.mjs";
import { signingKey } from "./packaging/signing-key.mjs";
import { openVersionLedger } from "./packaging/version-ledger.mjs";

const NAMESPACE = "acme";
const PROVIDER_ENTRY = fileURLToPath(new URL("provider/main.mjs", import.meta.url));
const PROVIDER_DOCS = fileURLToPath(new URL("provider/docs", import.meta.url));
const MODULE_DIR = fileURLToPath(new URL("module", import.meta.url));
const DEFAULT_STATE_DIR = fileURLToPath(new URL("../.terrace", import.meta.url));

/**
 * Bundles, packs and signs the example provider under `stateDir`, and returns the packages to publish.
 *
 * Unchanged contents keep their version and their exact bytes. Changed contents become the next patch
 * release, because a published version never changes.
 *
 * @param {{ stateDir?: string, log?: (line: string) => void }} [options]
 */
export async function buildExamples({ stateDir = DEFAULT_STATE_DIR, log = () => {} } = {}) {
  const providerDist = join(stateDir, "examples", "provider-dist");
  const versions = await openVersionLedger(join(stateDir, "examples", "versions.json"));

  const key = await signingKey(join(stateDir, "signing"), log);
  const bundle = await bundleProvider(PROVIDER_ENTRY);
  const provider = versions.releaseOf("provider", fingerprintOfText(bundle, key.publicKey));
  if (provider.isNew || !isLaidOut(providerDist, provider.version)) {
    await layOutProviderDist({ directory: providerDist, version: provider.version, bundle, key });
    log(`packed and signed the example provider ${provider.version}`);
  }

  const module = versions.releaseOf("module", await fingerprintOfDirectory(MODULE_DIR));
  await versions.save();

  return {
    namespace: NAMESPACE,
    publicKeyFile: key.publicKeyFile,
    providerDist,
    providerDocs: PROVIDER_DOCS,
    providerVersion: provider.version,
    moduleDir: MODULE_DIR,
    moduleAddress: `${NAMESPACE}/greeting/hello`,
    moduleVersion: module.version,
  };
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  console.log(await buildExamples({ log: console.error }));
}
