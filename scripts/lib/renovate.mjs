// Renovate, for tests: an npm package of its own, in the user's cache. With its dependencies it is several times as large as
// all of the project's packages, so it is none of them.
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

/** The directory of the package; only after `ensureRenovate`. */
export const renovate = packageIn(home);

/** Installs it, once per user and version. Returns the reason if it cannot be installed, by its name. */
export async function ensureRenovate() {
  if (existsSync(renovate)) return {};
  // Installed aside and moved into place, so that an interrupted installation leaves nothing that looks finished.
  const aside = `${home}.partial-${process.pid}`;
  try {
    await mkdir(aside, { recursive: true });
    await step(`installing Renovate ${VERSION}`, (log) => npmInstall(`renovate@${VERSION}`, aside, log));
    // Another checkout's tests may have been faster.
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
