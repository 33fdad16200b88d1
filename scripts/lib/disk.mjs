// The disk space of builds and tests.
import { existsSync, statfsSync } from "node:fs";
import { join } from "node:path";

import { temporaryRoot } from "./cleanup.mjs";
import { root } from "./paths.mjs";

const GIGABYTE = 1e9;

/** Returns a line with the free space of the project's disk and of the one for temporary files. */
export function freeDisk() {
  const places = [
    ["the project", root],
    ["temporary files", temporaryRoot],
  ];
  const spaces = places.map(([name, directory]) => `${(freeBytes(directory) / GIGABYTE).toFixed(1)} GB for ${name}`);
  return `free disk space: ${spaces.join(", ")}`;
}

function freeBytes(directory) {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

/**
 * Returns the variables that keep the compiler from storing its incremental state, if it has stored none yet: in a fresh
 * clone, as in CI, that state is half of `target/`, and no second build uses it.
 */
export function withoutIncrementalState(env, directory = root) {
  const isKept = env.CARGO_INCREMENTAL !== undefined || existsSync(join(directory, "target", "debug", "incremental"));
  return isKept ? {} : { CARGO_INCREMENTAL: "0" };
}
