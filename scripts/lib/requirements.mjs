// The needs of this version of the Worker, for the check before a deployment.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { root } from "./paths.mjs";
import { readConfig } from "./wrangler-config.mjs";

/** The kinds of bindings that the registry has. */
const BINDINGS = ["r2_buckets", "kv_namespaces", "ratelimits"];

/** Returns the needs, from wrangler.toml and the sources. */
export async function requirements() {
  const config = await readConfig(join(root, "wrangler.toml"));
  return {
    version: await version(),
    compatibility_date: config.compatibility_date,
    compatibility_flags: config.compatibility_flags ?? [],
    bindings: Object.fromEntries(BINDINGS.map((list) => [list, config[list]])),
    optional_bindings: await optionalBindings(),
    crons: config.triggers.crons,
    cache: config.cache,
    exports: config.exports,
    format: await format(),
  };
}

/** Returns the bindings that wrangler.toml has only as a comment. */
async function optionalBindings() {
  const pattern = /^# \[\[(analytics_engine_datasets)\]\]\n# binding = "(.+)"\n# dataset = "(.+)"$/m;
  const [, list, binding, dataset] = captured(await readFile(join(root, "wrangler.toml"), "utf8"), pattern, "wrangler.toml", "optional dataset");
  return { [list]: [{ binding, dataset }] };
}

/** Returns the version of the workspace. */
export async function version() {
  return captured(await readFile(join(root, "Cargo.toml"), "utf8"), /\[workspace\.package\]\nversion = "(.+)"/, "Cargo.toml", "version")[1];
}

const WRITER = "crates/terrace-core/src/storage/format.rs";

/** Returns the oldest versions that may change a registry after this one did, and after this one erased something. */
async function format() {
  const source = await readFile(join(root, WRITER), "utf8");
  const oldest = (field) => captured(source, new RegExp(`^ {4}${field}: Version::new\\((\\d+), (\\d+), (\\d+)\\),$`, "m"), WRITER, field).slice(1).join(".");
  return { oldest_writer: oldest("oldest"), oldest_writer_after_erasures: oldest("oldest_with_tombstones") };
}

function captured(text, pattern, file, name) {
  const found = pattern.exec(text);
  if (!found) throw new Error(`${file} has no ${name} in the form ${pattern}`);
  return found;
}
