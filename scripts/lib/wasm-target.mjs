// Selects a Rust that can build for wasm32-unknown-unknown, in this order:
//
// 1. the `cargo` and `rustc` on PATH, if they already have the target;
// 2. the distribution's own Rust with the source of its library, if apt offers them and this user may install them. The
//    target's library is compiled from that source once per user, into the cache: nothing is written into the system's
//    sysroot, and rustup's toolchains are left as they are;
// 3. `rustup target add`, which is sufficient on most machines.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { aptInstall, aptOffers } from "./apt.mjs";
import { cached } from "./installed.mjs";
import { ask, run } from "./run.mjs";
import { atLeast, neededRust } from "./rust.mjs";
import { step } from "./step.mjs";

const TARGET = "wasm32-unknown-unknown";

/** The distribution's Rust that is kept up to date (Debian builds its browsers with it), and a linker for wasm. */
const PACKAGES = ["rustc-web", "cargo-web", "rust-web-src", "lld-19"];
const LINKER = "wasm-ld-19";
const SYSTEM = { cargo: "/usr/bin/cargo", rustc: "/usr/bin/rustc", rustlib: "/usr/lib/rustlib" };

export async function ensureWasmTarget() {
  if ((await environment()) !== null) return;
  if (!(await systemRustIsUsable()) && (await aptOffers(PACKAGES))) {
    await step(`installing ${PACKAGES.join(", ")}`, (log) => aptInstall(PACKAGES, log));
  }
  if (await systemRustIsUsable()) await (await toolchain()).ensure();
  else if ((await ask("rustup", ["--version"])) !== null) await step(`rustup target add ${TARGET}`, (log) => run("rustup", ["target", "add", TARGET], { log }));
  if ((await environment()) !== null) return;
  throw new Error(
    `Rust cannot build for ${TARGET} yet. Install Rust with rustup (https://rustup.rs), or your distribution's package of ` +
      "Rust's library for that target, then run this again.",
  );
}

/** Returns the additions to PATH and the variables for a build for wasm; `null` if nothing here can build for wasm. */
export async function environment() {
  const library = await ask("rustc", ["--target", TARGET, "--print", "target-libdir"]);
  const files = library === null ? [] : await readdir(library).catch(() => []);
  if (files.some((file) => file.startsWith("libstd-"))) return { path: [], variables: {} };
  const rustc = (await toolchain())?.find();
  return rustc ? { path: [dirname(rustc)], variables: { CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER: LINKER } } : null;
}

async function systemRustIsUsable() {
  const version = (await ask(SYSTEM.rustc, ["--version"]))?.split(" ")[1];
  const hasSource = existsSync(SYSTEM.cargo) && existsSync(join(SYSTEM.rustlib, "src/rust/library/std"));
  return version !== undefined && atLeast(version, neededRust()) && hasSource && (await ask(LINKER, ["--version"])) !== null;
}

/**
 * The toolchain derived from the system's Rust, one for each build of rustc: a directory with the system's programs, and a
 * sysroot with the wasm library added. `null` without a Rust of the system.
 */
async function toolchain() {
  const version = await ask(SYSTEM.rustc, ["-vV"]);
  if (version === null) return null;
  const [release, host] = ["release", "host"].map((name) => version.match(new RegExp(`^${name}: (\\S+)`, "m"))[1]);
  const build = createHash("sha256").update(version).digest("hex").slice(0, 8);
  return cached("rust", `${release}-${build}`, join("bin", "rustc"), async (home, log) => {
    const libraries = join(home, "sysroot", "lib", "rustlib");
    for (const directory of [join(home, "bin"), join(libraries, TARGET, "lib")]) await mkdir(directory, { recursive: true });
    await symlink(join(SYSTEM.rustlib, host), join(libraries, host));
    for (const library of await compileLibrary(join(home, "empty"), log)) await copyFile(library, join(libraries, TARGET, "lib", basename(library)));
    await rm(join(home, "empty"), { recursive: true });
    await symlink(SYSTEM.cargo, join(home, "bin", "cargo"));
    const rustc = join(home, "bin", "rustc");
    await writeFile(rustc, `#!/bin/sh\nexec ${SYSTEM.rustc} --sysroot "\${0%/*}/../sysroot" "$@"\n`);
    await chmod(rustc, 0o755);
  });
}

/** Compiles the standard library with an empty crate, and returns its files. */
async function compileLibrary(directory, log) {
  await mkdir(join(directory, "src"), { recursive: true });
  await writeFile(join(directory, "src", "lib.rs"), "");
  await writeFile(join(directory, "Cargo.toml"), '[package]\nname = "empty"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n');
  const env = {
    ...process.env,
    RUSTC: SYSTEM.rustc,
    // Allows `-Z` flags in a stable Rust, as the library's own build does.
    RUSTC_BOOTSTRAP: "1",
    // Without bitcode in the library, link-time optimisation of the Worker fails.
    RUSTFLAGS: "-Cembed-bitcode=yes",
    CARGO_TARGET_DIR: join(directory, "target"),
  };
  await run(SYSTEM.cargo, ["build", "--release", "-Zbuild-std=std,panic_abort,panic_unwind", "--target", TARGET], { cwd: directory, env, log });
  const built = join(directory, "target", TARGET, "release", "deps");
  const files = (await readdir(built)).filter((file) => file.endsWith(".rlib") && !file.startsWith("libempty-"));
  return files.map((file) => join(built, file));
}
