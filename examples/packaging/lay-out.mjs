// Lays the examples out for publishing, from a bundle and a key.
import { join } from "node:path";

import { fingerprintOfDirectory, fingerprintOfText } from "./fingerprint.mjs";
import { isLaidOut, layOutProviderDist } from "./provider-dist.mjs";
import { openVersionLedger } from "./version-ledger.mjs";

const NAMESPACE = "acme";

/**
 * Packs and signs the example provider under `stateDir`, and returns the packages to publish.
 *
 * Unchanged contents keep their version and their exact bytes. Changed contents become the next patch
 * release, because a published version never changes.
 *
 * - `bundle`: the provider as one script;
 * - `key`: from `rsaKey`;
 * - `moduleDir`: the example module.
 */
export async function layOutExamples({ stateDir, bundle, key, moduleDir, log }) {
  const providerDist = join(stateDir, "examples", "provider-dist");
  const versions = await openVersionLedger(join(stateDir, "examples", "versions.json"));

  const provider = versions.releaseOf("provider", fingerprintOfText(bundle, key.publicKey));
  if (provider.isNew || !isLaidOut(providerDist, provider.version)) {
    await layOutProviderDist({ directory: providerDist, version: provider.version, bundle, key });
    log(`packed and signed the example provider ${provider.version}`);
  }

  const module = versions.releaseOf("module", await fingerprintOfDirectory(moduleDir));
  await versions.save();

  return {
    namespace: NAMESPACE,
    publicKeyFile: key.publicKeyFile,
    providerDist,
    providerVersion: provider.version,
    moduleDir,
    moduleAddress: `${NAMESPACE}/greeting/hello`,
    moduleVersion: module.version,
  };
}
