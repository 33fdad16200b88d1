// Go programs, built from source for tests.
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { requireFreeDisk } from "./disk.mjs";
import { cacheDir, exe, root } from "./paths.mjs";
import { ask, lastLine, run } from "./run.mjs";
import { step } from "./step.mjs";

/** Longer than the largest build beside other stages on two cores, with all downloads, and short enough if the proxy hangs. */
const PATIENCE_MS = 30 * 60_000;

/** In gigabytes: the disk space that the build and the tests after it may take, with as much again to spare. */
const GIGABYTES = 15;

/** Returns the directory of a program that `goInstall` builds. */
export const goHome = (name, version) => join(cacheDir, `${name}-${version}`);

/**
 * Builds a program from Go's module proxy, once per user and version. Returns its directory, or throws the
 * reason why it cannot.
 */
export const goInstall = (name, path, version) =>
  builtOnce(name, version, (home, log) => go(["install", `${path}@${version}`], { log, env: { GOBIN: home } }));

/**
 * Does the same for a program that `go install` rejects because it replaces one of its dependencies: it is built in a
 * module of this checkout whose `go.mod` repeats the replacement and whose `go.sum` holds all checksums. `set` is a variable
 * that its releases set, as `package.name=value`. The build leaves 3 GB in Go's caches, so it does not begin on a disk that the
 * tests themselves may fill.
 */
export const goInstallFrom = (directory, name, path, version, set) =>
  builtOnce(name, version, (home, log) => {
    requireFreeDisk(GIGABYTES);
    return go(["build", "-ldflags", `-s -w -X ${set}`, "-o", join(home, exe(name)), path], { log, cwd: join(root, directory) });
  });

async function builtOnce(name, version, build) {
  const home = goHome(name, version);
  const isThere = () => existsSync(join(home, exe(name)));
  if (isThere()) return home;
  await requireGo();
  // It is built in a separate directory and then moved into place, so that an interrupted build leaves no
  // directory that looks complete.
  const aside = `${home}.partial-${process.pid}`;
  try {
    await mkdir(aside, { recursive: true });
    await step(`building ${name} ${version}`, (log) => build(aside, log));
    // Concurrent tests of another checkout may have finished first.
    if (!isThere()) await rename(aside, home);
  } catch (error) {
    throw new Error(`it could not be built: ${lastLine(error)}`);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
  return home;
}

export async function requireGo() {
  if ((await ask("go", ["version"])) === null) throw new Error("Go, which is needed to build it, is not on PATH");
}

/**
 * Runs Go without cgo, so that no C compiler is needed, and without a workspace file of a parent directory. Builds use both cores, so
 * they leave them to the stages that they run beside.
 */
export const go = (args, { env, ...options }) =>
  run("go", args, { ...options, timeout: PATIENCE_MS, isPatient: true, env: { ...process.env, CGO_ENABLED: "0", GOWORK: "off", ...env } });
