// Selects a Rust that can build for wasm32-unknown-unknown, in this order:
//
// 1. the `cargo` and `rustc` on PATH, if they already have the target;
// 2. the distribution's own Rust with the source of its library, if apt offers them and this user may install them. The
//    target's library is compiled from that source once per user, into the cache: nothing is written into the system's
//    sysroot, and rustup's toolchains are left as they are;
// 3. `rustup target add`, which is sufficient on most machines.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { aptInstall, aptOffers } from "./apt.mjs";
import { Cleanup, temporaryDirectory } from "./cleanup.mjs";
import { atLeast, neededRust } from "./rust.mjs";
import { cacheDir } from "./paths.mjs";
import { ask, run } from "./run.mjs";
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
  if (await systemRustIsUsable()) {
    await step(`compiling Rust's library for ${TARGET}`, buildToolchain);
  } else if ((await ask("rustup", ["--version"])) === null) {
    throw new Error(
      `Rust cannot build for ${TARGET} yet. Install Rust with rustup (https://rustup.rs), or your distribution's package of ` +
        "Rust's library for that target, then run this again.",
    );
  } else {
    await step(`rustup target add ${TARGET}`, (log) => run("rustup", ["target", "add", TARGET], { log }));
  }
  if ((await environment()) === null) throw new Error(`Rust still cannot build for ${TARGET}`);
}

/** Returns the additions to PATH and the variables for a build for wasm; `null` if nothing here can build for wasm. */
export async function environment() {
  if (await hasTarget("rustc")) return { path: [], variables: {} };
  const toolchain = await cachedToolchain();
  if (toolchain === null || !existsSync(join(toolchain, "bin", "rustc"))) return null;
  return {
    path: [join(toolchain, "bin")],
    variables: { CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER: LINKER },
  };
}

async function hasTarget(rustc) {
  const directory = await ask(rustc, ["--target", TARGET, "--print", "target-libdir"]);
  return directory !== null && (await hasLibrary(directory));
}

async function hasLibrary(directory) {
  const files = await readdir(directory).catch(() => []);
  return files.some((file) => file.startsWith("libstd-"));
}

// --- the distribution's Rust

async function systemRustIsUsable() {
  const version = (await ask(SYSTEM.rustc, ["--version"]))?.split(" ")[1];
  return (
    version !== undefined &&
    atLeast(version, neededRust()) &&
    existsSync(SYSTEM.cargo) &&
    existsSync(join(SYSTEM.rustlib, "src/rust/library/std")) &&
    (await ask(LINKER, ["--version"])) !== null
  );
}

/**
 * Returns the directory of the toolchain derived from the system's Rust, whether it exists or not: one for
 * each build of rustc.
 */
async function cachedToolchain() {
  const version = await ask(SYSTEM.rustc, ["-vV"]);
  if (version === null) return null;
  const release = version.match(/^release: (\S+)/m)?.[1] ?? "unknown";
  const build = createHash("sha256").update(version).digest("hex").slice(0, 8);
  return join(cacheDir, `rust-${release}-${build}`);
}

/** Creates a directory that looks like a toolchain: the system's programs, and a sysroot with the wasm library added. */
async function buildToolchain(log) {
  const toolchain = await cachedToolchain();
  const host = (await ask(SYSTEM.rustc, ["-vV"])).match(/^host: (\S+)/m)[1];
  const aside = `${toolchain}.partial-${process.pid}`;
  const libraries = join("sysroot", "lib", "rustlib");
  const cleanup = new Cleanup();
  const source = temporaryDirectory(cleanup);
  try {
    await mkdir(join(aside, "bin"), { recursive: true });
    await mkdir(join(aside, libraries, TARGET, "lib"), { recursive: true });
    await symlink(join(SYSTEM.rustlib, host), join(aside, libraries, host));
    for (const library of await compileLibrary(source, log)) {
      await copyFile(library, join(aside, libraries, TARGET, "lib", library.split("/").at(-1)));
    }
    await symlink(SYSTEM.cargo, join(aside, "bin", "cargo"));
    const rustc = join(aside, "bin", "rustc");
    await writeFile(rustc, `#!/bin/sh\nexec ${SYSTEM.rustc} --sysroot '${join(toolchain, "sysroot")}' "$@"\n`);
    await chmod(rustc, 0o755);
    await rm(toolchain, { recursive: true, force: true });
    await rename(aside, toolchain);
  } finally {
    await rm(aside, { recursive: true, force: true });
    await cleanup.run();
  }
}

/** Compiles the standard library with an empty crate, and returns its files. */
async function compileLibrary(directory, log) {
  await mkdir(join(directory, "src"));
  await writeFile(join(directory, "src", "lib.rs"), "");
  await writeFile(
    join(directory, "Cargo.toml"),
    '[package]\nname = "empty"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n',
  );
  const env = {
    ...process.env,
    RUSTC: SYSTEM.rustc,
    // Allows `-Z` flags in a stable Rust, as the library's own build does.
    RUSTC_BOOTSTRAP: "1",
    // Without bitcode in the library, link-time optimisation of the Worker fails.
    RUSTFLAGS: "-Cembed-bitcode=yes",
    CARGO_TARGET_DIR: join(directory, "target"),
  };
  const crates = "std,panic_abort,panic_unwind";
  await run(SYSTEM.cargo, ["build", "--release", `-Zbuild-std=${crates}`, "--target", TARGET], {
    cwd: directory,
    env,
    log,
  });
  const built = join(directory, "target", TARGET, "release", "deps");
  const files = await readdir(built);
  return files
    .filter((file) => file.endsWith(".rlib") && !file.startsWith("libempty-"))
    .map((file) => join(built, file));
}
