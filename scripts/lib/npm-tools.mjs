// Programs from npm that only some scripts need: each is installed on demand, once per user and version, in the user's cache.
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { npmInstall } from "./npm.mjs";
import { cacheDir } from "./paths.mjs";
import { step } from "./step.mjs";

/** A package of npm, with its exact version. */
export class NpmTool {
  #home;

  constructor(name, version) {
    this.name = name;
    this.version = version;
    this.#home = join(cacheDir, `${name.replace("/", "-")}-${version}`);
  }

  /** Returns the path of a file in the package, which `ensure` installs. */
  file(...segments) {
    return join(this.#home, "node_modules", this.name, ...segments);
  }

  /** Installs the package if it is missing. */
  async ensure() {
    if (existsSync(this.file())) return;
    // It is installed in a separate directory and then moved into place, so that an interrupted installation
    // leaves no directory that looks complete.
    const aside = `${this.#home}.partial-${process.pid}`;
    try {
      await mkdir(aside, { recursive: true });
      await step(`installing ${this.name} ${this.version}`, (log) => npmInstall(`${this.name}@${this.version}`, aside, log));
      // Another checkout may have finished first.
      if (!existsSync(this.file())) await rename(aside, this.#home);
    } finally {
      await rm(aside, { recursive: true, force: true });
    }
  }
}
