// Renovate, for tests: an npm package in the user's cache. With its dependencies it is several times as large
// as all of the project's packages, so it is not one of them.
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { npmInstall } from "./npm.mjs";
import { cacheDir } from "./paths.mjs";
import { lastLine } from "./run.mjs";
import { say, step } from "./step.mjs";

const VERSION = "44.121.2";

const home = join(cacheDir, `renovate-${VERSION}`);
const packageIn = (directory) => join(directory, "node_modules", "renovate");

/** The directory of the package, which `ensureRenovate` creates. */
export const renovate = packageIn(home);

/** Installs it, once per user and version. Returns the reason if it cannot be installed, by its name. */
export async function ensureRenovate() {
  if (existsSync(renovate)) return {};
  // It is installed in a separate directory and then moved into place, so that an interrupted installation
  // leaves no directory that looks complete.
  const aside = `${home}.partial-${process.pid}`;
  try {
    await mkdir(aside, { recursive: true });
    await step(`installing Renovate ${VERSION}`, (log) => npmInstall(`renovate@${VERSION}`, aside, log));
    // Tests of another checkout may have finished first.
    if (!existsSync(renovate)) await rename(aside, home);
    return {};
  } catch (error) {
    const reason = `Renovate ${VERSION} is not in the cache, and could not be installed: ${lastLine(error)}`;
    say(`- ${reason}`);
    return { renovate: reason };
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}
