// The project's requirements for Rust, from its Cargo.toml and Cargo.lock.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { root } from "./paths.mjs";
import { ask } from "./run.mjs";

/** Returns the version of a crate in Cargo.lock. */
export const lockedVersion = (crate) => stated("Cargo.lock", new RegExp(`^name = "${crate}"\\nversion = "([^"]+)"`, "m"));

/** Returns the oldest Rust that the project builds with, such as "1.91". */
export const neededRust = () => stated("Cargo.toml", /^rust-version = "([\d.]+)"/m);

function stated(file, pattern) {
  const found = readFileSync(join(root, file), "utf8").match(pattern);
  if (!found) throw new Error(`${file} has nothing of the form ${pattern}`);
  return found[1];
}

/** Rejects with instructions if Rust is missing or too old. */
export async function requireRust() {
  const needed = neededRust();
  const version = (await ask("rustc", ["--version"]))?.split(" ")[1];
  if (!version || (await ask("cargo", ["--version"])) === null) {
    throw new Error(`Terrace is written in Rust: install Rust ${needed} or newer (https://rustup.rs), then run this again.`);
  }
  if (!atLeast(version, needed)) throw new Error(`Terrace needs Rust ${needed} or newer and this is ${version}: run \`rustup update\`, then run this again.`);
}

/** Returns whether version `a` is at least `b`, compared numerically. */
export const atLeast = (a, b) => a.localeCompare(b, "en", { numeric: true }) >= 0;
