// `npm run fuzz [-- --seconds N] [TARGET …]`: searches with libFuzzer for input that crashes a parser. New input is kept in
// fuzz/target/found; `npm run fuzz -- --minimise` adds to fuzz/corpus only short inputs, and only if they reach more code.
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";

import { Cleanup, temporaryDirectory } from "./lib/cleanup.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { root } from "./lib/paths.mjs";
import { ask, run } from "./lib/run.mjs";
import { main, say, step } from "./lib/step.mjs";
import { ensureCargoFuzz } from "./lib/tools.mjs";

const TOOLCHAIN = "nightly";
const directory = join(root, "fuzz");
/** The maximum length of inputs in bytes, during the search and in the corpus: a line of text is short, and an archive is not. */
const LONGEST = { zip: 4096, tar: 8192, openpgp: 4096 };
const LONGEST_OTHERWISE = 2048;
const LONGEST_KEPT = 1024;
/** The maximum number of found inputs that are kept per target. */
const MOST_KEPT = 60;
/** Matches libFuzzer's name for an input that it has found: its SHA-1. */
const FOUND = /^[0-9a-f]{40}$/;
/** The limits of one input: memory in MB, and seconds. */
const MEMORY_MB = 1024;
const PATIENCE_SECONDS = 10;
/** The approximate rate of a target without optimisation. */
const MUTATIONS_A_SECOND = 2_000;

endWithParent();

await main(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seconds: { type: "string", default: "60" }, minimise: { type: "boolean", default: false } },
  });
  const seconds = Number(values.seconds);
  if (!Number.isInteger(seconds) || seconds < 1) throw new Error("--seconds must be a whole number of seconds, at least 1");
  const targets = await wanted(positionals);
  if ((await ask("cargo", [`+${TOOLCHAIN}`, "--version"])) === null) {
    say(`- libFuzzer needs a ${TOOLCHAIN} toolchain, which is not installed; mutations of the corpus are tried instead`);
    await replay(seconds);
    return;
  }
  const cargoFuzz = await ensureCargoFuzz();
  await step("building the fuzz targets", (log) => fuzz(cargoFuzz, ["build"], { log }));
  let executions = 0;
  const failed = [];
  for (const target of targets) {
    const count = values.minimise ? await minimise(cargoFuzz, target) : await search(cargoFuzz, target, seconds, failed);
    executions += count;
  }
  if (!values.minimise) say(`\n${targets.length} targets, ${executions} executions, ${failed.length} findings`);
  if (failed.length > 0) throw new Error(`these targets failed: ${failed.join(", ")}; the failing inputs are in fuzz/artifacts`);
});

/** Returns the named targets, or all of them. */
async function wanted(names) {
  const files = await readdir(join(directory, "fuzz_targets"));
  const all = files.map((file) => file.replace(/\.rs$/, "")).sort();
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`unknown target ${unknown.join(", ")}; the targets are ${all.join(", ")}`);
  return names.length > 0 ? names : all;
}

/** Runs a target and returns the number of executions. Adds a target that fails to `failed`. */
async function search(cargoFuzz, target, seconds, failed) {
  // New inputs go to a separate directory, so that a search by itself changes nothing in the checkout.
  const found = join(directory, "target", "found", target);
  await mkdir(found, { recursive: true });
  return step(`fuzzing ${target}`, async (log) => {
    const longest = LONGEST[target] ?? LONGEST_OTHERWISE;
    const limits = [`-max_len=${longest}`, `-rss_limit_mb=${MEMORY_MB}`, `-timeout=${PATIENCE_SECONDS}`];
    const args = ["run", target, found, corpus(target), "--", `-max_total_time=${seconds}`, "-print_final_stats=1", ...limits];
    const { code, output } = await fuzz(cargoFuzz, args, { log, check: false });
    const executions = Number(output.match(/stat::number_of_executed_units:\s+(\d+)/)?.[1] ?? 0);
    const covered = output.match(/cov: (\d+)/g)?.at(-1);
    say(`  ${executions} executions, ${covered ?? "nothing covered"}`);
    if (code !== 0) {
      failed.push(target);
      say(reason(output).map((line) => `  │ ${line}`).join("\n"));
    }
    return executions;
  });
}

/** Returns the part of a program's output that explains its end. */
function reason(output) {
  const lines = output.trimEnd().split("\n");
  const panic = lines.findIndex((line) => line.includes("panicked at") || line.includes("ERROR: libFuzzer"));
  return panic < 0 ? lines.slice(-20) : lines.slice(panic, panic + 4);
}

/** Keeps the inputs written by hand, and a minimal set of the others that reaches more code, or a sample of it. */
async function minimise(cargoFuzz, target) {
  const cleanup = new Cleanup();
  const [all, kept] = [temporaryDirectory(cleanup), temporaryDirectory(cleanup)];
  try {
    for (const source of [join(directory, "target", "found", target), corpus(target)]) {
      if (!existsSync(source)) continue;
      for (const file of await readdir(source)) {
        const isByHand = !FOUND.test(file);
        const { size } = await stat(join(source, file));
        if (isByHand || size <= LONGEST_KEPT) await cp(join(source, file), join(isByHand ? kept : all, file));
      }
    }
    // Counters are off, or there would be a thousand variants of each input that differ only in the number of
    // executions.
    const args = ["run", target, kept, all, "--", "-set_cover_merge=1", "-use_counters=0"];
    await step(`minimising the corpus of ${target}`, (log) => fuzz(cargoFuzz, args, { log }));
    await rm(corpus(target), { recursive: true, force: true });
    const found = (await readdir(kept)).filter((file) => FOUND.test(file)).sort();
    const isSampled = (place) => found.length <= MOST_KEPT || place % Math.ceil(found.length / MOST_KEPT) === 0;
    const passedOver = new Set(found.filter((_, place) => !isSampled(place)));
    await cp(kept, corpus(target), { recursive: true, filter: (file) => !passedOver.has(basename(file)) });
  } finally {
    await cleanup.run();
  }
  const files = await readdir(corpus(target));
  const sizes = await Promise.all(files.map(async (file) => (await readFile(join(corpus(target), file))).length));
  say(`  ${files.length} inputs, ${sizes.reduce((sum, size) => sum + size, 0)} bytes`);
  return 0;
}

function corpus(target) {
  return join(directory, "corpus", target);
}

/** Runs the same targets without libFuzzer, on the corpus and on mutations of it. */
async function replay(seconds) {
  const args = ["test", "--package", "terrace", "--test", "it", "fuzzed"];
  const env = { ...process.env, TERRACE_CASES: String(seconds * MUTATIONS_A_SECOND) };
  await step("running the corpus of earlier searches", (log) => run("cargo", args, { log, env }));
}

function fuzz(cargoFuzz, [command, ...args], options) {
  const env = { RUSTUP_TOOLCHAIN: TOOLCHAIN, CARGO_TARGET_DIR: join(directory, "target"), CARGO_INCREMENTAL: "0" };
  return run(cargoFuzz, ["fuzz", command, ...args], { cwd: directory, ...options, env: { ...process.env, ...env } });
}
