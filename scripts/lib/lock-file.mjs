// The lock file of the folder that people deploy.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

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
  const packages = {
    "": { name, version, license, dependencies, devDependencies, engines },
    ...withAddresses(ofDevelopment(lockedClosure(lock, Object.keys(devDependencies)))),
    ...withAddresses({ [`node_modules/${REGISTRY}`]: { version: registry.version, ...entry, license: registry.license, bin: registry.bin, engines: registry.engines } }),
  };
  return { name, version, lockfileVersion: lock.lockfileVersion, requires: true, packages: sorted(packages) };
}

/** Adds the addresses that npm would otherwise ask for. It replaces their host if it is configured with another registry. */
function withAddresses(packages) {
  const entries = Object.entries(packages).map(([path, { version, ...entry }]) => {
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    const resolved = `https://registry.npmjs.org/${name}/-/${name.split("/").at(-1)}-${version}.tgz`;
    return [path, { version, resolved, ...entry }];
  });
  return Object.fromEntries(entries);
}

/** Some packages are more than development dependencies of the checkout only. */
const ofDevelopment = (packages) => Object.fromEntries(Object.entries(packages).map(([path, entry]) => [path, { ...entry, dev: true }]));

const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));

/**
 * Returns the packages of a lock file that these packages need, by path: themselves and their dependencies, with the same
 * versions and digests.
 */
export function lockedClosure({ packages }, names) {
  const found = new Map();
  const add = (path) => {
    if (found.has(path)) return;
    const entry = packages[path];
    found.set(path, entry);
    for (const name of needs(entry)) {
      const at = resolved(packages, path, name);
      // Optional dependencies and peers may be missing.
      if (at !== undefined) add(at);
    }
  };
  for (const name of names) add(`node_modules/${name}`);
  return Object.fromEntries(found);
}

const needs = ({ dependencies, optionalDependencies, peerDependencies }) =>
  Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });

/** Returns the path of the package that Node would find from `path`, inside it or above. */
function resolved(packages, path, name) {
  for (let directory = path; ; directory = directory.slice(0, Math.max(0, directory.lastIndexOf("/node_modules/")))) {
    const at = directory === "" ? `node_modules/${name}` : `${directory}/node_modules/${name}`;
    if (at in packages) return at;
    if (directory === "") return undefined;
  }
}
