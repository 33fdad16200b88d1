// Where things are: the checkout, this checkout's own state, and what all checkouts of one user share.
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const root = resolve(fileURLToPath(import.meta.url), "../../..");

/** Everything `npm start` and `npm test` leave in the checkout, apart from build output. Ignored by git. */
export const stateDir = join(root, ".terrace");

export const logDir = join(stateDir, "logs");

/** Built tools outlive the checkout, so that a second clone is fast. */
export const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "terrace");

export const isWindows = process.platform === "win32";

/** `name` as the operating system calls such a program's file. */
export const exe = (name) => (isWindows ? `${name}.exe` : name);

/** A file of an installed npm package. */
export const npmFile = (...segments) => join(root, "node_modules", ...segments);

/** Whether the module with this `import.meta.url` is the script that was run. */
export const isMain = (url) => Boolean(process.argv[1]) && fileURLToPath(url) === realpathSync(process.argv[1]);
