// Measures an archive of a gigabyte on its way in and out, for each way of transfer.
import { createHash } from "node:crypto";
import { join } from "node:path";

import { writeBigZip } from "../../../tests/clients/support/big-zip.mjs";
import { packaged, signedProvider } from "../../../tests/clients/support/releases.mjs";
import { isolateTime } from "./isolate.mjs";
import { PLATFORMS } from "./seed.mjs";
import { directory } from "./servers.mjs";

const MIB = 1024 * 1024;

/** The size of a chunk in MiB. Most plans limit a request to a Worker to 100 MB, and this is below it. */
const PART_MIB = 90;

const PLATFORM = "linux_amd64";

const WAYS = [
  { way: "published, by S3", mode: "presigned", go: publish },
  { way: "published, by S3, where R2 kept no checksum", mode: "presigned", keepsChecksums: false, go: publish },
  { way: "published, by the Worker, in zips below 100 MB", mode: "worker", isSplit: true, go: publish },
  { way: "pushed by OCI, in chunks below 100 MB", mode: "worker", go: push },
  { way: "downloaded, by S3", mode: "presigned", isThere: true, go: download },
  { way: "downloaded, by the Worker", mode: "worker", isThere: true, go: download },
];

/** Measures each way with archives of these sizes in MiB. */
export async function measureGigabyte(storage, sizes) {
  const small = await zips("small", 1);
  const measured = [];
  for (const mebibytes of sizes) {
    const whole = await zips(`whole${mebibytes}`, mebibytes);
    const split = await zips(`split${mebibytes}`, mebibytes, PART_MIB);
    for (const way of WAYS) {
      const archives = { small, big: way.isSplit ? split : whole };
      const seen = await inProcess(storage, way, archives, measureWay);
      const isolate = await inProcess(storage, way, archives, isolateTime, { inspect: true });
      const size = archives.big.reduce((sum, it) => sum + it.size, 0);
      measured.push({ way: way.way, mode: way.mode, size, ...seen, isolate });
    }
  }
  return measured;
}

/** Measures a way in a new process, after a small archive has gone the same way; returns the result of `observe`. */
async function inProcess(storage, { mode, keepsChecksums = true, isThere = false, go }, { small, big }, observe, options) {
  await storage.set({ forgets: "everything", keepsChecksums });
  if (isThere) await inNewProcess(storage, "presigned", (registry) => publish(registry, "1.0.0", big));
  return inNewProcess(
    storage,
    mode,
    async (registry) => {
      if (isThere) await publish(registry, "0.1.0", small);
      await go(registry, "0.1.0", small);
      return observe(registry, () => go(registry, "1.0.0", big));
    },
    options,
  );
}

async function inNewProcess(storage, mode, work, options) {
  const registries = await storage.registries(options);
  try {
    await registries[mode].trusts("acme", storage.key);
    return await work(registries[mode]);
  } finally {
    await registries.stop();
  }
}

/** Measures the work: the bytes that the Worker read from storage and wrote to it, and the bytes that bypassed it. */
async function measureWay(registry, work) {
  const { operations, cpu, ms, received, sent, s3, wasm, resident } = await registry.measured(work);
  return { operations, cpu, ms, read: sent, written: received, past: s3.received + s3.sent, wasm, resident };
}

/** Creates zips of so many MiB in total, each of at most `most` MiB. */
async function zips(name, mebibytes, most = mebibytes) {
  const count = Math.ceil(mebibytes / most);
  const made = [];
  for (let at = 0; at < count; at += 1) {
    const contents = { executable: "terraform-provider-big", program: `#!/bin/sh\n# ${at}\n`, megabytes: Math.ceil(mebibytes / count) };
    made.push(await writeBigZip(join(directory, `${name}-${at}.zip`), contents));
  }
  return made;
}

async function publish(registry, version, archives) {
  const platforms = archives.length === 1 ? [PLATFORM] : PLATFORMS.slice(0, archives.length);
  const packages = archives.map(({ blob, digest, size }, at) => packaged(`terraform-provider-big_${version}_${platforms[at]}.zip`, platforms[at], blob, digest, size));
  await registry.publishes(signedProvider({ address: "acme/big", version, key: registry.storage.key, zips: packages }));
}

/** Pushes in chunks, as clients do for a registry that limits the size of a request. */
async function push(registry, version, [{ blob, digest, size }]) {
  const send = async (method, path, body, headers) => {
    const url = new URL(path, registry.url);
    const authorization = `Bearer ${registry.secrets.adminToken}`;
    const response = await fetch(url, { method, body, headers: { authorization, ...headers } });
    if (!response.ok) throw new Error(`${method} ${url} answers ${response.status}: ${await response.text()}`);
    return response.headers.get("location");
  };
  let location = await send("POST", `/v2/team/v${version}/blobs/uploads/`);
  for (let from = 0; from < size; from += PART_MIB * MIB) {
    const chunk = blob.slice(from, from + PART_MIB * MIB);
    location = await send("PATCH", location, chunk, { "content-range": `${from}-${from + chunk.size - 1}` });
  }
  const last = new URL(location, registry.url);
  last.searchParams.set("digest", `sha256:${digest}`);
  await send("PUT", last);
}

async function download(registry, version, [{ digest }]) {
  const [os, arch] = PLATFORM.split("_");
  const { download_url: url } = await registry.json(`/v1/providers/acme/big/${version}/download/${os}/${arch}`);
  const hash = createHash("sha256");
  for await (const chunk of (await fetch(url)).body) hash.update(chunk);
  if (hash.digest("hex") !== digest) throw new Error(`${url} returned other bytes`);
}
