// The lock file of the folder that people deploy.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { npm } from "./npm.mjs";
import { root } from "./paths.mjs";

/** The package with the built Worker. */
export const REGISTRY = "terrace-registry";

/**
 * Returns the lock file for this package.json, with the versions that this checkout is tested with. `entry` has more about the
 * package of the registry: its digest is known once it is packed.
 */
export async function lockToDeploy({ name, version, license, dependencies, devDependencies, engines }, entry = {}) {
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
  const registry = JSON.parse(await readFile(join(root, "packages", "worker", "package.json"), "utf8"));
  const selector = Object.keys(devDependencies).map((needed) => `#${needed}, #${needed} *`).join();
  const found = JSON.parse((await npm(["query", selector, "--package-lock-only"], { cwd: root })).stdout);
  const packages = {
    // Some are more than development dependencies of the checkout only.
    ...Object.fromEntries(found.map(({ location }) => [location, { ...lock.packages[location], dev: true }])),
    [`node_modules/${REGISTRY}`]: { version: registry.version, ...entry, license: registry.license, bin: registry.bin, engines: registry.engines },
  };
  const sorted = Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)).map(withAddress);
  const own = { name, version, license, dependencies, devDependencies, engines };
  return { name, version, lockfileVersion: lock.lockfileVersion, requires: true, packages: { "": own, ...Object.fromEntries(sorted) } };
}

/** Adds the address that npm would otherwise ask for. It replaces its host if it is configured with another registry. */
function withAddress([path, { version, ...entry }]) {
  const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
  return [path, { version, resolved: `https://registry.npmjs.org/${name}/-/${name.split("/").at(-1)}-${version}.tgz`, ...entry }];
}
