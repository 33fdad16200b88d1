// Parts of npm's lock file.

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
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
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
