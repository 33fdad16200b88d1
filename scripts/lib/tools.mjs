// Programs of other people that are built from source once per user: the two that a build of the Worker consists of here,
// worker-build itself and the wasm-bindgen whose version must equal the library's, what runs fuzz targets, and what runs
// benchmarks.
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";

import { lockedVersion } from "./rust.mjs";
import { cacheDir, exe } from "./paths.mjs";
import { ask, run } from "./run.mjs";
import { say, step } from "./step.mjs";

const WORKER_BUILD = "0.8.7";
const CARGO_FUZZ = "0.13.2";

const tools = () => ({
  workerBuild: { crate: "worker-build", program: "worker-build", version: WORKER_BUILD, args: [] },
  wasmBindgen: {
    crate: "wasm-bindgen-cli",
    program: "wasm-bindgen",
    version: lockedVersion("wasm-bindgen"),
    // Its TLS is for a test runner that is not used here, and slow to build.
    args: ["--no-default-features"],
  },
});

const cargoFuzz = { crate: "cargo-fuzz", program: "cargo-fuzz", version: CARGO_FUZZ, args: [] };

/** Its version must equal the library's, too. */
const gungraunRunner = () => ({
  crate: "gungraun-runner",
  program: "gungraun-runner",
  version: lockedVersion("gungraun"),
  args: [],
});

/** Builds what is neither on PATH nor in the cache. */
export const ensureTools = () => ensure(Object.values(tools()));

/** The path of `cargo-fuzz`, which is built if need be. */
export async function ensureCargoFuzz() {
  await ensure([cargoFuzz]);
  return find(cargoFuzz);
}

/** The path of what runs benchmarks in callgrind; the same. */
export async function ensureGungraunRunner() {
  await ensure([gungraunRunner()]);
  return find(gungraunRunner());
}

async function ensure(wanted) {
  await removeLeftovers((pid) => !isAlive(pid));
  const missing = [];
  for (const tool of wanted) if ((await find(tool)) === null) missing.push(tool);
  if (missing.length === 0) return;
  say(`The first time takes a few minutes: tools are built, and kept in ${cacheDir} for the next time.`);
  for (const tool of missing) await step(`building ${tool.crate} ${tool.version}`, (log) => install(tool, log));
}

/** The paths of both programs; only after `ensureTools`. */
export async function toolPaths() {
  const { workerBuild, wasmBindgen } = tools();
  return { workerBuild: await find(workerBuild), wasmBindgen: await find(wasmBindgen) };
}

const home = ({ crate, version }) => join(cacheDir, `${crate}-${version}`);

async function find(tool) {
  const built = join(home(tool), "bin", exe(tool.program));
  if (existsSync(built)) return built;
  // They print their version as the last word.
  const found = await ask(tool.program, ["--version"]);
  return found?.split(" ").at(-1) === tool.version ? tool.program : null;
}

async function install(tool, log) {
  const { crate, version, args } = tool;
  // Built aside and moved into place, so that an interrupted build leaves nothing that looks finished.
  const aside = `${home(tool)}.partial-${process.pid}`;
  // One target directory for all of them: they share many dependencies.
  const target = join(cacheDir, `target-${process.pid}`);
  await mkdir(cacheDir, { recursive: true });
  try {
    await run(
      "cargo",
      [
        "install",
        "--debug",
        "--locked",
        "--root",
        aside,
        "--version",
        `=${version}`,
        "--bin",
        tool.program,
        ...args,
        crate,
      ],
      {
        cwd: cacheDir,
        log,
        // Debug builds are fast enough, and without debug information they take half the time and space.
        env: { ...process.env, CARGO_TARGET_DIR: target, CARGO_PROFILE_DEV_DEBUG: "0", CARGO_INCREMENTAL: "0" },
      },
    );
    await rm(home(tool), { recursive: true, force: true });
    await rename(aside, home(tool));
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** Removes what building the tools needed on the way. */
export const cleanUpAfterTools = () => removeLeftovers((pid) => pid === process.pid);

/** Half-finished work carries the number of its process; an interrupted one cannot clean up after itself. */
async function removeLeftovers(isLeftBehindBy) {
  for (const name of await readdir(cacheDir).catch(() => [])) {
    const pid = name.match(/(?:\.partial|^target)-(\d+)$/)?.[1];
    if (pid && isLeftBehindBy(Number(pid))) await rm(join(cacheDir, name), { recursive: true, force: true });
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}
