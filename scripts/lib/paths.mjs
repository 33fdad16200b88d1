// Paths of the checkout, of its own state, and of the cache that all checkouts of a user share.
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const root = resolve(fileURLToPath(import.meta.url), "../../..");

/**
 * The directory for everything that `npm start` and `npm test` write into the checkout, apart from build
 * output. Ignored by git.
 */
export const stateDir = join(root, ".terrace");

export const logDir = join(stateDir, "logs");

/** The cache of built tools outlives the checkout, so that a second clone is fast. */
export const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "terrace");

export const isWindows = process.platform === "win32";

/** Returns the file name of a program on this operating system. */
export const exe = (name) => (isWindows ? `${name}.exe` : name);

/** Returns the path of a file in an installed npm package. */
export const npmFile = (...segments) => join(root, "node_modules", ...segments);

/** Returns whether the module with this `import.meta.url` is the script that was run. */
export const isMain = (url) => Boolean(process.argv[1]) && fileURLToPath(url) === realpathSync(process.argv[1]);
