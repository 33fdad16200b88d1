// Programs that Go builds.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";

import { cached } from "./installable.mjs";
import { cacheDir, exe, root } from "./paths.mjs";
import { run } from "./run.mjs";

/** Longer than the largest build on two cores, with all downloads, and short enough if the proxy hangs. */
const PATIENCE_MS = 30 * 60_000;

/** Go's caches while this process builds: those of all clients take 6 GB, as much as the tests, and no later build uses them. */
const CACHES = join(cacheDir, `go.partial-${process.pid}`);
const OWN_CACHES = { GOCACHE: join(CACHES, "build"), GOMODCACHE: join(CACHES, "modules"), GOFLAGS: `${process.env.GOFLAGS ?? ""} -modcacherw`.trim() };

/** Removes them. */
export const removeGoCaches = () => rm(CACHES, { recursive: true, force: true });

/** Runs Go without cgo, so that no C compiler is needed, and without a workspace file of a parent directory. */
const go = (args, { env, ...options }) =>
  run("go", args, { ...options, timeout: PATIENCE_MS, env: { ...process.env, ...OWN_CACHES, CGO_ENABLED: "0", GOWORK: "off", ...env } });

/** A program from Go's module proxy. */
export const goProgram = (name, path, version) =>
  cached(name, version, exe(name), (home, log) => go(["install", `${path}@${version}`], { log, env: { GOBIN: home } }));

/**
 * A program that is built in a module of this checkout: one of ours, whose version is the digest of its sources, or `target`,
 * which `go install` rejects because it replaces one of its dependencies. The `go.mod` of the checkout repeats the replacement,
 * and its `go.sum` holds all checksums.
 */
export function goBuilt(name, module, flags = [], { target = ".", version } = {}) {
  const cwd = join(root, "tests", "clients", module);
  return cached(name, version ?? digest(cwd), exe(name), (home, log) => go(["build", ...flags, "-o", join(home, exe(name)), target], { log, cwd }));
}

function digest(directory) {
  const hash = createHash("sha256");
  for (const name of readdirSync(directory).sort()) hash.update(`${name}\0`).update(readFileSync(join(directory, name)));
  return hash.digest("hex").slice(0, 12);
}
