// The example packages, as the admin API receives them.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { zipSync } from "fflate";

import { visibleFiles } from "../../examples/packaging/fingerprint.mjs";
import { ZIP_EPOCH } from "../../examples/packaging/provider-dist.mjs";

const ZIP_NAME = /_([a-z]+)_([a-z0-9]+)\.zip$/;

/** Returns the release in a directory that GoReleaser, or something like it, has written. */
export async function providerRelease({ namespace, providerDist, providerVersion: version }) {
  const names = await readdir(providerDist);
  const read = (ending) => readFile(join(providerDist, names.find((name) => name.endsWith(ending))));
  const archives = new Map();
  const packages = [];
  for (const filename of names.filter((name) => ZIP_NAME.test(name))) {
    const bytes = await readFile(join(providerDist, filename));
    const [, os, arch] = ZIP_NAME.exec(filename);
    packages.push({ os, arch, filename, ...described(bytes, archives) });
  }
  const body = {
    protocols: JSON.parse(await read("_manifest.json")).metadata.protocol_versions,
    shasums: (await read("_SHA256SUMS")).toString(),
    signature: (await read("_SHA256SUMS.sig")).toString("base64"),
    packages,
  };
  const [, type] = /^terraform-provider-(.+?)_/.exec(names[0]);
  return { path: `/admin/v1/providers/${namespace}/${type}/${version}`, body, archives };
}

/** Returns the release of a module in a directory. */
export async function moduleRelease({ moduleDir, moduleAddress, moduleVersion }) {
  const files = {};
  for (const path of await visibleFiles(moduleDir)) files[path] = [await readFile(join(moduleDir, path)), { mtime: ZIP_EPOCH }];
  const archives = new Map();
  const archive = { format: "zip", ...described(zipSync(files), archives) };
  return { path: `/admin/v1/modules/${moduleAddress}/${moduleVersion}`, body: { archive }, archives };
}

/** Returns the digest and the size of an archive, and adds it to `archives`. */
function described(bytes, archives) {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  archives.set(sha256, bytes);
  return { sha256, size: bytes.length };
}
