// Programs and packages of other projects, which are installed on demand.
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { cacheDir } from "./paths.mjs";
import { step } from "./step.mjs";

/** Mirrors and proxies fail now and then. */
const ATTEMPTS = 3;

/**
 * One that can be installed: `find` returns its path, or `undefined` if it is missing; `install` receives the name of a log file.
 * `ensure` installs it if it is missing, and returns the path.
 */
export const installable = (title, find, install) => ({
  find,
  async ensure() {
    let last = new Error(`${title} was installed, and is not where it should be`);
    for (let attempt = 1; !find(); attempt += 1) {
      if (attempt > ATTEMPTS) throw last;
      await step(`installing ${title}`, install).catch((error) => (last = error));
    }
    return find();
  },
});

/** One that all checkouts of a user share: `path` in a directory of the cache for its version. `fill` receives a directory and a log file. */
export function cached(name, version, path, fill) {
  const home = join(cacheDir, `${name.replace("/", "-")}-${version}`);
  const file = join(home, path);
  const find = () => (existsSync(file) ? file : undefined);
  return installable(`${name} ${version}`, find, async (log) => {
    // It is installed aside and then moved into place, so that an interrupted installation leaves no directory that looks complete.
    const aside = `${home}.partial-${process.pid}`;
    try {
      await mkdir(aside, { recursive: true });
      await fill(aside, log);
      // Another checkout may have finished first.
      if (!find()) await rename(aside, home);
    } finally {
      await rm(aside, { recursive: true, force: true });
    }
  });
}
