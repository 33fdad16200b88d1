// Packages from PyPI.
import { cached } from "./installable.mjs";
import { run } from "./run.mjs";

/** Longer than the download of a large wheel, and short enough if the index hangs. */
const PATIENCE_MS = 5 * 60_000;

/** A package with its dependencies and these extras; `path` leads to its file in a directory of packages. */
export const pipPackage = (name, version, path, extras = "") =>
  cached(name, version, path, (home, log) => {
    const args = ["-m", "pip", "install", "--quiet", "--no-compile", "--only-binary", ":all:", "--target", home, `${name}${extras}==${version}`];
    return run("python3", args, { log, timeout: PATIENCE_MS });
  });
