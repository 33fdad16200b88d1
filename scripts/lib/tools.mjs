// Programs that are built from source once per user: the two that build the Worker here, worker-build itself
// and the wasm-bindgen whose version must equal the library's; and the runner of fuzz targets.
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
    // TLS is only for a test runner that is not used here, and it is slow to build.
    args: ["--no-default-features"],
  },
});

const cargoFuzz = { crate: "cargo-fuzz", program: "cargo-fuzz", version: CARGO_FUZZ, args: [] };

/** Builds the programs that are neither on PATH nor in the cache. */
export const ensureTools = () => ensure(Object.values(tools()));

/** Returns the path of `cargo-fuzz`, which is built if necessary. */
export async function ensureCargoFuzz() {
  await ensure([cargoFuzz]);
  return find(cargoFuzz);
}

async function ensure(wanted) {
  await removeLeftovers((pid) => !isAlive(pid));
  const missing = [];
  for (const tool of wanted) if ((await find(tool)) === null) missing.push(tool);
  if (missing.length === 0) return;
  say(`The first run takes a few minutes: tools are built, and cached in ${cacheDir}.`);
  for (const tool of missing) await step(`building ${tool.crate} ${tool.version}`, (log) => install(tool, log));
}

/** Returns the paths of both programs; call `ensureTools` first. */
export async function toolPaths() {
  const { workerBuild, wasmBindgen } = tools();
  return { workerBuild: await find(workerBuild), wasmBindgen: await find(wasmBindgen) };
}

const targetOf = (pid) => join(cacheDir, `target-${pid}`);

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
  // Programs are built in a separate directory and then moved into place, so that an interrupted build leaves
  // no directory that looks complete.
  const aside = `${home(tool)}.partial-${process.pid}`;
  // All of them share one target directory, because they have many dependencies in common.
  const target = targetOf(process.pid);
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

/** Removes the target directory of building the tools. Other programs of this process may be under construction beside it. */
export const cleanUpAfterTools = () => rm(targetOf(process.pid), { recursive: true, force: true });

/** The names of temporary directories contain the process ID; an interrupted process cannot clean up after itself. */
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
