// Builds the Worker (into build/, for workerd and Cloudflare) and the `terrace` program (into .terrace/bin/).
//
// `node scripts/build.mjs [worker|cli]` builds one of them, or both without an argument; `check` builds the Worker of
// `npm test`; `cli --object-stores` a command that can serve one. wrangler.toml runs it for the Worker, so `wrangler deploy` and `wrangler dev` work on their own. Unchanged
// sources are not built again.
import { copyFile, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { exe, isMain, root, stateDir } from "./lib/paths.mjs";
import { ask, run } from "./lib/run.mjs";
import { unlessCurrent } from "./lib/stamp.mjs";
import { main, step } from "./lib/step.mjs";
import { buildEnv, setup } from "./setup.mjs";

/** The directory of the `terrace` program, which contains nothing else, so that it can go on PATH. */
export const cliDir = join(stateDir, "bin");
export const cli = join(cliDir, exe("terrace"));

const WASM = "build/index_bg.wasm";
/** The same module with function names, to interpret stack traces; not uploaded. */
const WASM_WITH_NAMES = "build/index_bg.names.wasm";
const wasmWithNames = join(root, WASM_WITH_NAMES);

/** The Worker that is deployed, for `startServer`. */
export const optimisedWorker = { main: join(root, "build", "index.js") };

/** The Worker of `npm test`: the same sources, built without optimisation in a third of the time. */
export const checkWorker = { main: join(root, "build", "check", "index.js") };

/** The crates that the Worker and the command share. */
const SHARED = ["base", "archive", "openpgp", "presign", "signature", "jose", "core", "web"].map((name) => `crates/terrace-${name}`);
const workspace = ["Cargo.toml", "Cargo.lock", ".cargo", ...SHARED.flatMap((crate) => [`${crate}/Cargo.toml`, `${crate}/src`])];

/** Builds the Worker: the one that is deployed, into build/, or with `optimised: false` that of `npm test`, into build/check/. */
export async function buildWorker({ optimised = true } = {}) {
  const env = await buildEnv();
  const [name, out, args] = optimised ? ["worker", "build", ["--release"]] : ["check-worker", "build/check", ["--profile", "check-worker", "--no-opt"]];
  await unlessCurrent(
    name,
    {
      inputs: [...workspace, "crates/terrace-app", "src", "package-lock.json", "scripts/build.mjs"],
      outputs: ["index.js", "wasm.js", "index_bg.wasm"].map((file) => `${out}/${file}`),
      also: `${await ask("rustc", ["--version"], { env })} ${env.WORKER_BUILD_BIN} ${env.WASM_BINDGEN_BIN}`,
    },
    () =>
      step(optimised ? "building the Worker" : "building the Worker for tests", async (log) => {
        await run(env.WORKER_BUILD_BIN, [...args, "--out-dir", out], { env, log });
        await rename(join(root, out, "index.js"), join(root, out, "wasm.js"));
        await copyFile(join(root, "src", "platform", "entry.js"), join(root, out, "index.js"));
        if (!optimised) return;
        await rename(join(root, WASM), wasmWithNames);
        await writeFile(join(root, WASM), withoutNames(await readFile(wasmWithNames)));
      }),
  );
}

/** Builds the command; with `objectStores`, as in releases, with `terrace serve --store`. */
export async function buildCli({ objectStores = false } = {}) {
  await step("building the terrace command", async (log) => {
    // A debug build is fast enough, and with these features it shares its dependencies with the tests.
    const features = ["terrace-cli/like-tests", ...(objectStores ? ["terrace-cli/object-store"] : [])].join();
    await run("cargo", ["build", "--workspace", "--bin", "terrace", "--features", features], { log });
    await mkdir(cliDir, { recursive: true });
    // Replaced in one step, because it may be running.
    await copyFile(join(await targetDirectory(), "debug", exe("terrace")), `${cli}.new`);
    await rename(`${cli}.new`, cli);
  });
}

/**
 * Returns a wasm module without the custom sections that only debuggers use: the names of functions are a large part of its size
 * (https://webassembly.github.io/spec/core/binary/modules.html).
 */
function withoutNames(module) {
  const unsigned = (at) => {
    for (let [value, shift] = [0, 0]; ; shift += 7) {
      const byte = module[at++];
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return [value, at];
    }
  };
  const kept = [module.subarray(0, 8)];
  for (let start = 8; start < module.length; ) {
    const [size, body] = unsigned(start + 1);
    const [length, name] = module[start] === 0 ? unsigned(body) : [0, body];
    const isForDebuggers = /^(name$|\.debug_)/.test(module.toString("utf8", name, name + length));
    if (!isForDebuggers) kept.push(module.subarray(start, body + size));
    start = body + size;
  }
  return Buffer.concat(kept);
}

async function targetDirectory() {
  const { stdout } = await run("cargo", ["metadata", "--no-deps", "--format-version", "1"]);
  return JSON.parse(stdout).target_directory;
}

/** Builds both concurrently: link-time optimisation of the Worker keeps only a single core busy for long. */
export async function buildAll() {
  const builds = await Promise.allSettled([buildWorker(), buildCli()]);
  const failed = builds.find((build) => build.status === "rejected");
  if (failed) throw failed.reason;
}

if (isMain(import.meta.url)) {
  const builds = { worker: buildWorker, check: () => buildWorker({ optimised: false }), cli: () => buildCli({ objectStores: process.argv[3] === "--object-stores" }), undefined: buildAll };
  await main(async () => {
    const build = builds[process.argv[2]];
    if (!build) throw new Error("usage: node scripts/build.mjs [worker|check|cli [--object-stores]]");
    await setup();
    await build();
  });
}
