// Programs that are built from source once per user: the two that build the Worker here, worker-build itself
// and the wasm-bindgen whose version must equal the library's; and the runner of fuzz targets.
import { rm } from "node:fs/promises";
import { join } from "node:path";

import { cached } from "./installed.mjs";
import { cacheDir, exe } from "./paths.mjs";
import { ask, run } from "./run.mjs";
import { lockedVersion } from "./rust.mjs";

const tools = () => ({
  workerBuild: tool("worker-build", "worker-build", "0.8.7"),
  // TLS is only for a test runner that is not used here, and it is slow to build.
  wasmBindgen: tool("wasm-bindgen-cli", "wasm-bindgen", lockedVersion("wasm-bindgen"), ["--no-default-features"]),
});

/** The target directory of all of them, which have many dependencies in common. */
const TARGET = join(cacheDir, `target-${process.pid}`);

function tool(crate, program, version, options = []) {
  const built = cached(crate, version, join("bin", exe(program)), (home, log) => {
    const args = ["install", "--debug", "--locked", "--root", home, "--version", `=${version}`, "--bin", program, ...options, crate];
    // Debug builds are fast enough, and without debug information they take half the time and space.
    const env = { ...process.env, CARGO_TARGET_DIR: TARGET, CARGO_PROFILE_DEV_DEBUG: "0", CARGO_INCREMENTAL: "0" };
    return run("cargo", args, { cwd: cacheDir, log, env });
  });
  /** Returns the path of the program, or its name if it is on PATH. It prints its version as the last word. */
  const ensure = async () => built.find() ?? ((await ask(program, ["--version"]))?.split(" ").at(-1) === version ? program : await built.ensure());
  return { ensure };
}

/** Builds the programs that are neither on PATH nor in the cache, and returns the paths of both. */
export async function ensureTools() {
  const paths = {};
  try {
    for (const [name, { ensure }] of Object.entries(tools())) paths[name] = await ensure();
    return paths;
  } finally {
    await rm(TARGET, { recursive: true, force: true });
  }
}

/** Returns the path of `cargo-fuzz`, which is built if necessary. */
export const ensureCargoFuzz = () => tool("cargo-fuzz", "cargo-fuzz", "0.13.2").ensure();
