// Packs the example provider as GoReleaser does: a zip for each platform, SHA256SUMS and its signature.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { zipSync } from "fflate";

const NAME = "terraform-provider-hello";
const PLATFORMS = ["darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64"];
const MANIFEST = { version: 1, metadata: { protocol_versions: ["6.0"] } };

// Times in a zip are local, without a zone: this instant is the earliest that they can represent, in every
// zone.
export const ZIP_EPOCH = new Date(1980, 0, 1);
const MADE_ON_UNIX = 3;
const EXECUTABLE = 0o100755 << 16;

/** Returns whether `directory` has that version, complete: its files are moved into place together. */
export function isLaidOut(directory, version) {
  return existsSync(join(directory, `${NAME}_${version}_SHA256SUMS.sig`));
}

/** Writes all files that `terrace publish provider` expects into `directory`, and replaces existing ones. */
export async function layOutProviderDist({ directory, version, bundle, key }) {
  const files = new Map();
  for (const platform of PLATFORMS) {
    const program = programFor({ version, platform }, bundle);
    // Without `.cjs`, Node takes ".0" for the extension, and does not run the file below a package.json with
    // "type": "module".
    files.set(`${NAME}_${version}_${platform}.zip`, zipExecutable(`${NAME}_v${version}.cjs`, program));
  }
  files.set(`${NAME}_${version}_manifest.json`, Buffer.from(`${JSON.stringify(MANIFEST, null, 2)}\n`));

  const sums = checksums(files);
  files.set(`${NAME}_${version}_SHA256SUMS`, sums);
  files.set(`${NAME}_${version}_SHA256SUMS.sig`, await key.signDetached(sums));

  await replaceDirectory(directory, files);
}

/** Returns the executable for one platform: `release.mjs` reads RELEASE. */
function programFor(release, bundle) {
  return `#!/usr/bin/env node\nconst RELEASE = ${JSON.stringify(release)};\n${bundle}`;
}

/** Returns a zip of a single executable file: a directory entry would change the archive's `h1:` hash. */
function zipExecutable(name, program) {
  return zipSync({
    [name]: [Buffer.from(program), { mtime: ZIP_EPOCH, os: MADE_ON_UNIX, attrs: EXECUTABLE, level: 9 }],
  });
}

function checksums(files) {
  const lines = [...files].map(([name, bytes]) => `${createHash("sha256").update(bytes).digest("hex")}  ${name}\n`);
  return lines.join("");
}

async function replaceDirectory(directory, files) {
  const fresh = `${directory}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true });
  for (const [name, bytes] of files) await writeFile(join(fresh, name), bytes);
  await rm(directory, { recursive: true, force: true });
  await rename(fresh, directory);
}
