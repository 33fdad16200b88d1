// Measures `terrace publish provider` with archives of the usual size against uploads of the same bytes by curl to the same storage.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { buildCli, cli } from "../../build.mjs";
import { sha256 } from "../../lib/sha256.mjs";
import { run } from "../../lib/run.mjs";
import { writeBigZip } from "../../../tests/clients/support/big-zip.mjs";
import { median } from "../statistics.mjs";
import { PLATFORMS } from "./seed.mjs";
import { directory } from "./servers.mjs";
import { S3 } from "./storage.mjs";

const VERSION = "1.0.0";
const STEM = `terraform-provider-big_${VERSION}`;
const TYPE = "big";

/** The uploads of curl at once, as many as the command's. */
const AT_ONCE = 4;

/** The rounds, in each of which both sides run; their median counts. */
const ROUNDS = 7;

/** The networks, with their bandwidth in bytes a second. */
const NETWORKS = { "no limit": Infinity, "1 Gbit/s": 125e6, "500 Mbit/s": 62.5e6 };

/**
 * Measures both with zips of `megabytes` each, for all platforms, in each network: `{ network, megabytes, platforms, published, raw, ratio }`,
 * in milliseconds, each `{ median, low, high }`.
 */
export async function measureUploads(storage, megabytes, program) {
  if (!program) await buildCli();
  const dist = join(directory, "dist");
  const zips = await writeDist(dist, storage.key, megabytes);
  const { presigned, stop } = await storage.registries();
  const publish = async () => {
    await presigned.trusts("acme", storage.key);
    const env = { ...process.env, TERRACE_URL: presigned.url, TERRACE_TOKEN: presigned.secrets.adminToken };
    const began = performance.now();
    await run(program ?? cli, ["publish", "provider", dist, "--namespace", "acme", "--no-docs"], { env });
    return performance.now() - began;
  };
  const measured = [];
  try {
    for (const [network, bytesPerSecond] of Object.entries(NETWORKS)) {
      await storage.set({ bytesPerSecond });
      const rounds = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const raw = await timed(storage, () => uploadByCurl(storage, dist, zips));
        rounds.push({ raw, published: await timed(storage, publish) });
      }
      measured.push({ network, megabytes, platforms: zips.length, ...summary(rounds) });
    }
  } finally {
    await storage.set({ bytesPerSecond: null });
    await stop();
  }
  return measured;
}

function summary(rounds) {
  const of = (value) => spread(rounds.map(value));
  return { published: of(({ published }) => published), raw: of(({ raw }) => raw), ratio: of(({ raw, published }) => published / raw) };
}

const spread = (values) => ({ median: median(values), low: Math.min(...values), high: Math.max(...values) });

/** Empties the storage, and returns the milliseconds that `work` states. */
async function timed(storage, work) {
  await storage.set({ forgets: "everything" });
  return work();
}

/** Writes a directory as GoReleaser does, and returns the names and digests of its zips. */
async function writeDist(dist, key, megabytes) {
  await mkdir(dist, { recursive: true });
  const zips = [];
  for (const platform of PLATFORMS) {
    const name = `${STEM}_${platform}.zip`;
    const contents = { executable: `terraform-provider-${TYPE}_v${VERSION}`, program: `#!/bin/sh\n# ${platform}\n`, megabytes };
    const { digest } = await writeBigZip(join(dist, name), contents);
    zips.push({ name, digest });
  }
  const manifest = { name: `${STEM}_manifest.json`, text: JSON.stringify({ version: 1, metadata: { protocol_versions: ["6.0"] } }) };
  const listed = [...zips, { name: manifest.name, digest: sha256(manifest.text) }];
  const shasums = listed.map(({ digest, name }) => `${digest}  ${name}\n`).join("");
  await writeFile(join(dist, manifest.name), manifest.text);
  await writeFile(join(dist, `${STEM}_SHA256SUMS`), shasums);
  await writeFile(join(dist, `${STEM}_SHA256SUMS.sig`), Buffer.from(await key.sign(shasums), "base64"));
  return zips;
}

/** Uploads the zips with their checksums, as a presigned URL requires, and returns the milliseconds. */
async function uploadByCurl(storage, dist, zips) {
  const transfers = zips.map(({ name, digest }) => {
    const checksum = Buffer.from(digest, "hex").toString("base64");
    const url = `http://127.0.0.1:${storage.port}${S3}/terrace-facts/archives/${digest}.zip`;
    return [`upload-file = "${join(dist, name)}"`, `url = "${url}"`, `header = "x-amz-checksum-sha256: ${checksum}"`, "fail", "silent", "show-error"].join("\n");
  });
  const config = join(directory, "curl");
  await writeFile(config, transfers.join("\nnext\n"));
  const began = performance.now();
  await run("curl", ["--parallel", "--parallel-immediate", "--parallel-max", String(AT_ONCE), "--config", config]);
  return performance.now() - began;
}
