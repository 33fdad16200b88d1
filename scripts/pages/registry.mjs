// A registry with packages as they occur, for pictures of its pages.
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { cli } from "../build.mjs";
import { temporaryDirectory } from "../lib/cleanup.mjs";
import { root } from "../lib/paths.mjs";
import { run } from "../lib/run.mjs";
import { step } from "../lib/step.mjs";
import { startServer } from "../server.mjs";
import { signingKey } from "../../examples/packaging/signing-key.mjs";
import { sha256, zip } from "../../tests/clients/support/archives.mjs";
import { Registry } from "../../tests/clients/support/registry.mjs";
import { mirrored, provider } from "../../tests/clients/support/releases.mjs";
import { newKey } from "../../tests/clients/support/signing.mjs";

const PACKAGES = join(root, "scripts", "pages", "packages");

export const MODULE = { address: "acme/vpc/aws", versions: ["2.4.0", "3.0.0", "3.1.0"] };
export const PROVIDER = { address: "acme/fleet", versions: ["1.4.2", "2.0.0", "2.1.0"] };

/** The inputs of the module that its oldest version does not have yet, and the one that it had instead. */
const LATER_INPUTS = ["nat_gateways", "endpoints", "peering_secret"];
const FORMER_INPUT = 'variable "enable_nat" {\n  description = "Whether private subnets reach the internet"\n  type        = bool\n  default     = true\n}\n';

const PLATFORMS = ["darwin_amd64", "darwin_arm64", "linux_amd64", "linux_arm64", "windows_amd64"];

/** Modules that only fill lists, with their descriptions. */
const OTHERS = {
  "platform/kubernetes-cluster/aws": ["4.0.2", "A Kubernetes cluster with node groups, workload identity and backups."],
  "platform/postgres/aws": ["1.9.0", "A PostgreSQL database with replicas, backups and a pool of connections."],
  "platform/bucket/google": ["0.7.1", "A private bucket with a lifecycle, versions and an audit log."],
  "platform/dns-zone/cloudflare": ["2.2.0", "A DNS zone with its records, DNSSEC and redirects."],
  "data/stream/aws": ["1.0.0", "A stream with consumers, alarms and an archive."],
};

/** The pages that are shown. */
export const PAGES = {
  start: "/",
  browse: "/browse/modules",
  provider: `/providers/${PROVIDER.address}/${PROVIDER.versions.at(-1)}`,
  document: `/providers/${PROVIDER.address}/${PROVIDER.versions.at(-1)}/docs/resources/vehicle`,
  module: `/modules/${MODULE.address}/${MODULE.versions.at(-1)}`,
  comparison: `/modules/${MODULE.address}/compare/${MODULE.versions.at(0)}...${MODULE.versions.at(-1)}`,
};

/** Starts the registry and publishes its packages. `cleanup` stops it. */
export function startWithPackages(cleanup, vars = {}) {
  return step("publishing packages for the pages", async (log) => {
    const registry = Object.assign(new Registry(), await startServer(cleanup, { vars }));
    const directory = temporaryDirectory(cleanup);
    const env = { ...process.env, ...registry.env };
    const terrace = (...args) => run(cli, args, { log, env, cwd: directory });
    const key = await signingKey(directory, () => {});
    await terrace("key", "add", "acme", key.publicKeyFile);
    await publishMirrored(registry, directory);
    await publishOthers(terrace, directory);
    await publishProvider(terrace, directory, key);
    await publishModule(terrace, directory);
    await terrace("release", "deprecate", `${MODULE.address}@${MODULE.versions[0]}`, "--reason", "use 3.x, which needs no renumbering");
    await terrace("admin", "reindex");
    return registry;
  });
}

async function publishMirrored(registry, directory) {
  const key = await newKey(join(directory, "origin"));
  await registry.publishes(mirrored("registry.opentofu.org", key, provider({ address: "hashicorp/random", version: "3.7.2", key })));
}

async function publishOthers(terrace, directory) {
  for (const [address, [version, description]] of Object.entries(OTHERS)) {
    const files = join(directory, address);
    await writeAll(files, { "README.md": `# ${address.split("/")[1]}\n\n${description}\n`, "main.tf": "" });
    await terrace("publish", "module", files, "--address", address, "--version", version, "--no-source");
  }
}

async function publishModule(terrace, directory) {
  for (const version of MODULE.versions) {
    const files = join(directory, `vpc-${version}`);
    await cp(join(PACKAGES, "vpc"), files, { recursive: true });
    if (version === MODULE.versions[0]) await makeOlder(join(files, "variables.tf"));
    const source = ["--source", "https://github.com/acme/terraform-aws-vpc"];
    await terrace("publish", "module", files, "--address", MODULE.address, "--version", version, ...source);
  }
}

async function makeOlder(file) {
  const blocks = (await readFile(file, "utf8")).split(/\n(?=variable )/);
  const kept = blocks.filter((block) => !LATER_INPUTS.some((name) => block.startsWith(`variable "${name}"`)));
  await writeFile(file, [...kept, FORMER_INPUT].join("\n"));
}

async function publishProvider(terrace, directory, key) {
  const type = PROVIDER.address.split("/")[1];
  for (const version of PROVIDER.versions) {
    const dist = join(directory, `${type}-${version}`);
    await writeAll(dist, await distOf(type, version, key));
    const docs = ["--docs", join(PACKAGES, type), "--source", `https://github.com/acme/terraform-provider-${type}`];
    await terrace("publish", "provider", dist, "--namespace", "acme", ...docs);
  }
}

/** Returns the files that GoReleaser writes for a provider; no client runs this one. */
async function distOf(type, version, key) {
  const stem = `terraform-provider-${type}_${version}`;
  const zips = PLATFORMS.map((platform) => [`${stem}_${platform}.zip`, zip({ [`terraform-provider-${type}_v${version}`]: platform }, 0o755)]);
  const manifest = [`${stem}_manifest.json`, JSON.stringify({ version: 1, metadata: { protocol_versions: ["6.0"] } })];
  const sums = [...zips, manifest].map(([name, bytes]) => `${sha256(bytes)}  ${name}\n`).join("");
  return Object.fromEntries([...zips, manifest, [`${stem}_SHA256SUMS`, sums], [`${stem}_SHA256SUMS.sig`, await key.signDetached(sums)]]);
}

async function writeAll(directory, files) {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), content);
  }
}
