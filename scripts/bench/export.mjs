// Writes the measured content to files, so that other servers can serve the same.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { manifestOf, module, provider, saying } from "../../tests/clients/support/releases.mjs";
import { newKey } from "../../tests/clients/support/signing.mjs";
import { cases } from "./cases.mjs";
import { wire } from "./load.mjs";
import { module as moduleOf, NEWEST, older, PLATFORMS, provider as providerOf, SHARED, SUBDIR } from "./packages.mjs";

/**
 * Writes Terrace's answers into `answers`, under the paths of their routes; the source files of the providers
 * and modules of `SHARED` into `releases`; and the key that signed them into `keys`.
 */
export async function exportFiles(directory, terrace) {
  await answers(join(directory, "answers"), terrace);
  const key = await newKey(join(directory, "keys"));
  for (const n of SHARED) {
    for (const version of [...older(n), NEWEST]) {
      await write(join(directory, "releases", "providers", providerOf(n), version), await providerFiles(n, version, key));
      await write(join(directory, "releases", "modules", moduleOf(n)), moduleFiles(n, version));
    }
  }
}

async function answers(directory, terrace) {
  const reads = cases().filter(({ status, mode, hasToken }) => status === 200 && mode !== "Worker" && !hasToken);
  for (const { deployment, path, headers } of reads.flatMap(forEachPlatform)) {
    const [connection] = await terrace.connections(deployment, 1);
    const { body } = await connection.ask(wire({ path, headers }), { keep: true });
    await write(directory, { [path]: body });
  }
}

/** A cache of these answers also requests platforms that are not measured. */
function forEachPlatform(read) {
  if (read.route !== "provider download") return [read];
  return PLATFORMS.split(",").map((platform) => ({ ...read, path: read.path.replace("linux/amd64", platform.replace("_", "/")) }));
}

/** Returns the files as GoReleaser leaves them. */
async function providerFiles(n, version, key) {
  const { body, archives } = await provider({ address: providerOf(n), version, key, platforms: PLATFORMS.split(",") });
  const type = providerOf(n).split("/")[1];
  const manifest = manifestOf(type, version);
  const sums = `terraform-provider-${type}_${version}_SHA256SUMS`;
  return {
    ...Object.fromEntries(body.packages.map(({ filename, sha256 }) => [filename, archives.get(sha256)])),
    [manifest.filename]: manifest.text,
    [sums]: body.shasums,
    [`${sums}.sig`]: Buffer.from(body.signature, "base64"),
  };
}

function moduleFiles(n, version) {
  const files = { [`${SUBDIR}/main.tf`]: saying(moduleOf(n))["main.tf"] };
  const [bytes] = module({ address: moduleOf(n), version, files, format: "tar.gz", subdir: SUBDIR }).archives.values();
  return { [`${version}.tar.gz`]: bytes };
}

async function write(directory, files) {
  for (const [name, bytes] of Object.entries(files)) {
    const file = join(directory, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes);
  }
}
