// The names of a release that move on to later ones, such as `latest`. A patch of an older version must not move them back.
import { ask, run } from "../lib/run.mjs";
import { compareVersions, isPrerelease, parseVersion } from "./versions.mjs";

/**
 * Returns the moving names of a version, given all versions with a tag:
 *
 * - `latest`: whether it is what users get who name no version;
 * - `minor`: whether it is what users get who name its minor version, such as `1.2`.
 *
 * No prerelease has either.
 */
export function channelsOf(version, tagged) {
  if (isPrerelease(version)) return { latest: false, minor: false };
  const newer = tagged.filter((other) => !isPrerelease(other) && compareVersions(other, version) > 0);
  return { latest: newer.length === 0, minor: !newer.some((other) => minorOf(other) === minorOf(version)) };
}

/** Returns the minor version of `version`, such as `1.2`. */
export const minorOf = (version) => version.split(".").slice(0, 2).join(".");

/**
 * Reads the versions that have a tag in the repository in `directory`, or only those with a tag on `commit`. Rejects if this is a
 * shallow clone, which lacks tags.
 */
export async function taggedVersions(directory, commit = null) {
  const shallow = await ask("git", ["rev-parse", "--is-shallow-repository"], { cwd: directory });
  if (shallow !== "false") {
    throw new Error(`${directory} is not a complete clone, so the tags of other releases are unknown: run \`git fetch --unshallow --tags\``);
  }
  const { stdout } = await run("git", ["tag", ...(commit ? ["--points-at", commit] : []), "--list", "v*"], { cwd: directory });
  return stdout.split("\n").flatMap(versionOfTag);
}

/** Returns the version of a tag, or nothing if the tag is not that of a release. */
function versionOfTag(tag) {
  try {
    return [parseVersion(tag.replace(/^v/, ""))];
  } catch {
    return [];
  }
}
