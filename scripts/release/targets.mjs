// The machines that the released `terrace` command runs on.

/**
 * - `target`: Rust's name;
 * - `runner`: the machine of GitHub Actions that builds it, on which the result runs, too;
 * - `format`: of the archive: Windows opens a zip without another program;
 * - `container`: the name of the platform in container images, if they have one;
 * - `homebrew`: the conditions of Homebrew's formula.
 */
export const TARGETS = [
  { target: "x86_64-unknown-linux-musl", runner: "ubuntu-24.04", format: "tar.gz", container: "amd64", homebrew: ["linux", "intel"] },
  { target: "aarch64-unknown-linux-musl", runner: "ubuntu-24.04-arm", format: "tar.gz", container: "arm64", homebrew: ["linux", "arm"] },
  { target: "x86_64-apple-darwin", runner: "macos-15-intel", format: "tar.gz", homebrew: ["macos", "intel"] },
  { target: "aarch64-apple-darwin", runner: "macos-15", format: "tar.gz", homebrew: ["macos", "arm"] },
  { target: "x86_64-pc-windows-msvc", runner: "windows-2022", format: "zip" },
  { target: "aarch64-pc-windows-msvc", runner: "windows-11-arm", format: "zip" },
];

/** Returns the target of this name. */
export function targetNamed(name) {
  const found = TARGETS.find(({ target }) => target === name);
  if (!found) throw new Error(`the command is not released for ${name}, only for ${TARGETS.map(({ target }) => target).join(", ")}`);
  return found;
}

/** Returns the name of the directory in an archive, which is that of the archive without its extension. */
export const stemOf = (version, { target }) => `terrace-${version}-${target}`;

export const archiveOf = (version, target) => `${stemOf(version, target)}.${target.format}`;

/** Returns the name of the program for a target. */
export const programFor = ({ target }) => (target.includes("windows") ? "terrace.exe" : "terrace");
