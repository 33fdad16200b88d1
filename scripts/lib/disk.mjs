// The disk space of builds and tests.
import { statfsSync } from "node:fs";

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
