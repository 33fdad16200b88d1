// Restores many releases, as from a copy of a registry: through the registry's own route, so that it writes
// the documents itself.
import { sha256 } from "../../../tests/clients/support/archives.mjs";
import { provider } from "../../../tests/clients/support/releases.mjs";
import { PRETENDED_BYTES } from "./storage.mjs";

/** The 15 platforms that GoReleaser builds a provider for. */
export const PLATFORMS = [
  ...["darwin_amd64", "darwin_arm64", "freebsd_386", "freebsd_amd64", "freebsd_arm", "freebsd_arm64", "linux_386"],
  ...["linux_amd64", "linux_arm", "linux_arm64", "openbsd_386", "openbsd_amd64", "windows_386", "windows_amd64"],
  "windows_arm64",
];

/** The maximum number of documents in a request. */
const AT_ONCE = 20;

/** The version in the template, which no other text in a release resembles. */
const TEMPLATE = "123.456.789";
const TEMPLATE_ADDRESS = "acme/template";

/** Publishes a release here, and returns its document as the template for others. */
export async function template(registry, key) {
  await registry.trusts("acme", key);
  await registry.publish(provider({ address: TEMPLATE_ADDRESS, version: TEMPLATE, key, platforms: PLATFORMS }));
  const { answer } = await registry.admin("GET", `/admin/v1/facts?prefix=releases/providers/hosted/${TEMPLATE_ADDRESS}/`);
  return answer.facts[0].document;
}

/** Restores `count` versions of each provider, 1.0.0 and up. Their archives only appear to be present. */
export async function restore(registry, { addresses, count, document }) {
  await registry.storage.set({ pretends: true });
  const facts = function* () {
    for (const address of addresses) for (let patch = 0; patch < count; patch += 1) yield factOf(document, address, `1.0.${patch}`);
  };
  for (const some of inBatches(facts())) {
    const { status, answer } = await registry.admin("PUT", "/admin/v1/facts", JSON.stringify({ facts: some }));
    if (status !== 200 || answer.created.length !== some.length) throw new Error(`restoring answers ${status}: ${JSON.stringify(answer)}`);
  }
  await registry.storage.set({ pretends: false });
}

function factOf(document, address, version) {
  const [, type] = address.split("/");
  const [, templateType] = TEMPLATE_ADDRESS.split("/");
  const renamed = document.replaceAll(TEMPLATE_ADDRESS, address).replaceAll(TEMPLATE, version).replaceAll(`-${templateType}_`, `-${type}_`);
  const release = JSON.parse(renamed);
  const unlike = (name) => sha256(`${name} of ${address} ${version}`);
  release.shasums = unlike("SHA256SUMS");
  release.signature = unlike("the signature");
  for (const it of release.packages) Object.assign(it, { sha256: unlike(it.filename), size: PRETENDED_BYTES });
  return { key: `releases/providers/hosted/${address}/${version}`, document: JSON.stringify(release) };
}

function* inBatches(items) {
  let batch = [];
  for (const item of items) {
    batch.push(item);
    if (batch.length === AT_ONCE) yield batch.splice(0);
  }
  if (batch.length > 0) yield batch;
}
