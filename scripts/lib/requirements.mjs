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

/** Returns the oldest version that may change a registry after this one did. */
async function format() {
  const found = /^ {4}oldest: Version::new\((\d+), (\d+), (\d+)\),$/m.exec(await readFile(join(root, WRITER), "utf8"));
  if (!found) throw new Error(`${WRITER} does not state the oldest writer`);
  return { oldest_writer: found.slice(1).join(".") };
}
