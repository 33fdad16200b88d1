// The project's requirements for Rust, from its Cargo.toml and Cargo.lock.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { root } from "./paths.mjs";
import { ask } from "./run.mjs";

/** Returns the version of a crate in Cargo.lock. */
export function lockedVersion(crate) {
  const lock = readFileSync(join(root, "Cargo.lock"), "utf8");
  const found = lock.match(new RegExp(`^name = "${crate}"\\nversion = "([^"]+)"`, "m"));
  if (!found) throw new Error(`Cargo.lock does not name the crate ${crate}`);
  return found[1];
}

/** Returns the oldest Rust that the project builds with, such as "1.91". */
export function neededRust() {
  const manifest = readFileSync(join(root, "Cargo.toml"), "utf8");
  const found = manifest.match(/^rust-version = "([\d.]+)"/m);
  if (!found) throw new Error("Cargo.toml names no rust-version");
  return found[1];
}

/** Rejects with instructions if Rust is missing or too old. */
export async function requireRust() {
  const needed = neededRust();
  const version = (await ask("rustc", ["--version"]))?.split(" ")[1];
  if (!version || (await ask("cargo", ["--version"])) === null) {
    throw new Error(
      `Terrace is written in Rust: install Rust ${needed} or newer (https://rustup.rs), then run this again.`,
    );
  }
  if (!atLeast(version, needed)) {
    throw new Error(
      `Terrace needs Rust ${needed} or newer and this is ${version}: run \`rustup update\`, then run this again.`,
    );
  }
}

/** Returns whether version `a` is at least `b`, compared numerically. */
export function atLeast(a, b) {
  const [left, right] = [a, b].map((version) => version.split(/[.-]/).map((part) => Number.parseInt(part, 10)));
  for (const [i, wanted] of right.entries()) {
    const has = left[i] ?? 0;
    if (has !== wanted) return has > wanted;
  }
  return true;
}
