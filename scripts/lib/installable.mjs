// Programs and packages of other projects, which are installed on demand.
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { cacheDir } from "./paths.mjs";
import { step } from "./step.mjs";

/** Mirrors and proxies fail now and then. */
const ATTEMPTS = 3;

export class Installable {
  #title;
  #install;

  /** `find` returns its path, or `undefined` if it is missing; `install` receives the name of a log file. */
  constructor(title, find, install) {
    this.#title = title;
    this.find = find;
    this.#install = install;
  }

  /** Returns the path of a file in a package that is there. */
  file(...segments) {
    return join(this.find(), ...segments);
  }

  /** Installs it if it is missing. */
  async ensure() {
    let last = new Error("it was installed, and is not where it should be");
    for (let attempt = 1; !this.find(); attempt += 1) {
      if (attempt > ATTEMPTS) throw last;
      await step(`installing ${this.#title}`, this.#install).catch((error) => (last = error));
    }
  }
}

/** One that all checkouts of a user share: `path` in a directory of the cache for its version. `fill` receives a directory and a log file. */
export function cached(name, version, path, fill) {
  const home = join(cacheDir, `${name.replace("/", "-")}-${version}`);
  const file = join(home, path);
  const find = () => (existsSync(file) ? file : undefined);
  return new Installable(`${name} ${version}`, find, async (log) => {
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
