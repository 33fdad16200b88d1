// The needs of this version of the Worker, for the check before a deployment.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { currentVersion } from "../release/versions.mjs";
import { root } from "./paths.mjs";
import { readConfig } from "./wrangler-config.mjs";

/** The kinds of bindings that the registry has. */
const BINDINGS = ["r2_buckets", "kv_namespaces", "ratelimits"];

/** Returns the needs, from wrangler.toml and the sources. */
export async function requirements() {
  const config = await readConfig(join(root, "wrangler.toml"));
  return {
    version: await currentVersion(root),
    compatibility_date: config.compatibility_date,
    compatibility_flags: config.compatibility_flags ?? [],
    bindings: Object.fromEntries(BINDINGS.map((list) => [list, config[list]])),
    crons: config.triggers.crons,
    cache: config.cache,
    exports: config.exports,
    format: await format(),
  };
}

const WRITER = "crates/terrace-core/src/storage/format.rs";

/** Returns the oldest versions that may change a registry after this one did, and after this one erased something. */
async function format() {
  const source = await readFile(join(root, WRITER), "utf8");
  const oldest = (field) => {
    const found = new RegExp(`^ {4}${field}: Version::new\\((\\d+), (\\d+), (\\d+)\\),$`, "m").exec(source);
    if (!found) throw new Error(`${WRITER} has no ${field}`);
    return found.slice(1).join(".");
  };
  return { oldest_writer: oldest("oldest"), oldest_writer_after_erasures: oldest("oldest_with_tombstones") };
}
