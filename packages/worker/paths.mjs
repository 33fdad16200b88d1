// The paths of the installed package, in place of `scripts/lib/paths.mjs`: that module's importers are bundled into
// `start/start.mjs`.
import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const root = resolve(fileURLToPath(import.meta.url), "../..");

/** The local registry's storage, secrets and log belong to the directory in which it was started. */
export const stateDir = resolve(".terrace");

export const logDir = join(stateDir, "logs");

export const isWindows = process.platform === "win32";

export const exe = (name) => (isWindows ? `${name}.exe` : name);

/** wrangler is no dependency of this package: it belongs to the package that depends on this one, or to the directory. */
const DEPENDANTS = [root, process.cwd(), ...(process.argv[1] ? [dirname(realpathSync(process.argv[1]))] : [])];

/** Returns the path of a file in an installed npm package; one that does not exist if the package is missing. */
export function npmFile(...segments) {
  const found = DEPENDANTS.flatMap(andAbove).map((directory) => join(directory, "node_modules", ...segments));
  return found.find((file) => existsSync(file)) ?? found[0];
}

function andAbove(directory) {
  const above = dirname(directory);
  return above === directory ? [directory] : [directory, ...andAbove(above)];
}
