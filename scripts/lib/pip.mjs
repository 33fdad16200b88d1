// Programs from PyPI that only the tests use: each is installed once per user and version, in the user's cache.
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { cacheDir, exe } from "./paths.mjs";
import { ask, lastLine, run } from "./run.mjs";
import { step } from "./step.mjs";

/** Longer than the download of a large wheel, and short enough if the index hangs. */
const PATIENCE_MS = 5 * 60_000;

/** Installs a package without dependencies. Returns the path of its program of the same name, or throws the reason why it cannot. */
export async function pipInstall(name, version) {
  const home = join(cacheDir, `${name}-${version}`);
  const program = join(home, "bin", exe(name));
  if (existsSync(program)) return program;
  if ((await ask("python3", ["-m", "pip", "--version"])) === null) throw new Error("pip, which is needed to install it, is missing");
  // It is installed in a separate directory and then moved into place, so that an interrupted installation leaves no
  // directory that looks complete.
  const aside = `${home}.partial-${process.pid}`;
  try {
    await mkdir(aside, { recursive: true });
    const args = ["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--target", aside, `${name}==${version}`];
    await step(`installing ${name} ${version}`, (log) => run("python3", args, { log, timeout: PATIENCE_MS }));
    // Another checkout may have finished first.
    if (!existsSync(program)) await rename(aside, home);
  } catch (error) {
    throw new Error(`it could not be installed: ${lastLine(error)}`);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return program;
}
