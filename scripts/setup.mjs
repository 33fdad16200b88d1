// Prepares this machine to build and run Terrace; on a prepared machine, that takes a second.
//
// Importable (`setup`, `buildEnv`) and runnable (`npm run setup`). Needs Node 20, npm and Rust, and installs the rest.
import { delimiter, dirname } from "node:path";

import { ensureNpmPackages, nodeForWrangler } from "./lib/npm.mjs";
import { isMain, isWindows, npmFile } from "./lib/paths.mjs";
import { requireRust } from "./lib/rust.mjs";
import { main, say } from "./lib/step.mjs";
import { ensureTools } from "./lib/tools.mjs";
import { ensureWasmTarget, environment } from "./lib/wasm-target.mjs";

/** Installs the missing parts. They are independent and run concurrently, because each waits for the network. */
export async function setup() {
  await requireRust();
  const parts = await Promise.allSettled([ensureNpmPackages(), ensureWasmTarget(), ensureTools()]);
  const failed = parts.find((part) => part.status === "rejected");
  if (failed) throw failed.reason;
}

/** Returns the environment in which `worker-build` finds everything and downloads nothing; call `setup` first. */
export async function buildEnv() {
  const wasm = await environment();
  if (wasm === null) throw new Error("this machine is not set up yet: run `npm run setup`");
  const { workerBuild, wasmBindgen } = await ensureTools();
  // wasm-opt from npm is a script, which Windows does not start by name: there, worker-build downloads its
  // own.
  const scripts = isWindows
    ? {}
    : { WASM_OPT_BIN: npmFile("binaryen", "bin", "wasm-opt"), ESBUILD_BIN: npmFile("esbuild", "bin", "esbuild") };
  return {
    ...process.env,
    ...wasm.variables,
    ...scripts,
    PATH: [...wasm.path, dirname(nodeForWrangler()), process.env.PATH].join(delimiter),
    WASM_BINDGEN_BIN: wasmBindgen,
    WORKER_BUILD_BIN: workerBuild,
  };
}

if (isMain(import.meta.url)) {
  await main(async () => {
    await setup();
    say("Everything is in place. `npm start` runs the registry, `npm test` tests it.");
  });
}
