// The flags of released builds: the same bytes from every directory.
import { homedir } from "node:os";
import { join } from "node:path";

import { root } from "../lib/paths.mjs";

/** Separates flags, which may contain spaces. */
const SEPARATOR = "\x1f";

/**
 * Returns the variables for cargo. They replace the paths of this machine, which panics name, and link the C library of Windows
 * in, which may be missing elsewhere.
 */
export function releaseFlags(target) {
  const cargo = process.env.CARGO_HOME || join(homedir(), ".cargo");
  const rustup = process.env.RUSTUP_HOME || join(homedir(), ".rustup");
  const replaced = [[cargo, "/cargo"], [rustup, "/rustup"], [root, "/terrace"]];
  const flags = replaced.map(([path, name]) => `--remap-path-prefix=${path}=${name}`);
  if (target.endsWith("-msvc")) flags.push("-Ctarget-feature=+crt-static");
  return { CARGO_ENCODED_RUSTFLAGS: flags.join(SEPARATOR) };
}
