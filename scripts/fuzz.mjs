// `npm run fuzz [-- --seconds N] [TARGET …]`: lets libFuzzer look for bytes that a parser does not survive. What it finds new
// is added to fuzz/corpus; `npm run fuzz -- --minimise` keeps of that what reaches something of its own, and is short.
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
/** The longest input that is tried, and that is kept, in bytes: a line of text is short, and an archive is not. */
const LONGEST = { zip: 4096, tar: 8192, openpgp: 4096 };
const LONGEST_OTHERWISE = 2048;
const LONGEST_KEPT = 1024;
/** How many inputs that were found are kept of a target. */
const MOST_KEPT = 60;
/** What libFuzzer calls an input that it has found: its SHA-1. */
const FOUND = /^[0-9a-f]{40}$/;
/** What one input may take: memory in MB, and seconds. */
const MEMORY_MB = 1024;
const PATIENCE_SECONDS = 10;
/** What a target takes without optimisation, about. */
const MUTATIONS_A_SECOND = 2_000;

endWithParent();

await main(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seconds: { type: "string", default: "60" }, minimise: { type: "boolean", default: false } },
  });
  const seconds = Number(values.seconds);
  if (!Number.isInteger(seconds) || seconds < 1) throw new Error("--seconds wants a number of seconds");
  const targets = await wanted(positionals);
  if ((await ask("cargo", [`+${TOOLCHAIN}`, "--version"])) === null) {
    say(`- libFuzzer needs a ${TOOLCHAIN} toolchain, which is not there; changes of what is kept are tried instead`);
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
  if (failed.length > 0) throw new Error(`these failed: ${failed.join(", ")}; what breaks them is in fuzz/artifacts`);
});

/** The targets that are named, or all. */
async function wanted(names) {
  const files = await readdir(join(directory, "fuzz_targets"));
  const all = files.map((file) => file.replace(/\.rs$/, "")).sort();
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`there is no target ${unknown.join(", ")}; there are ${all.join(", ")}`);
  return names.length > 0 ? names : all;
}

/** Runs a target and returns how often it was executed. What it finds is added to `failed`. */
async function search(cargoFuzz, target, seconds, failed) {
  // What is new is looked for beside what is kept, so that a search alone changes nothing in the checkout.
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

/** What a program says of its end. */
function reason(output) {
  const lines = output.trimEnd().split("\n");
  const panic = lines.findIndex((line) => line.includes("panicked at") || line.includes("ERROR: libFuzzer"));
  return panic < 0 ? lines.slice(-20) : lines.slice(panic, panic + 4);
}

/** Keeps what was written by hand, and the least of the rest that reaches more than that, or a sample of it. */
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
    // How often it was reached makes no difference, or there would be a thousand of each.
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

/** The same targets without libFuzzer: what is kept, and changes of it. */
async function replay(seconds) {
  const args = ["test", "--package", "terrace", "--test", "it", "fuzzed"];
  const env = { ...process.env, TERRACE_MUTATIONS: String(seconds * MUTATIONS_A_SECOND) };
  await step("trying what is kept of earlier searches", (log) => run("cargo", args, { log, env }));
}

function fuzz(cargoFuzz, [command, ...args], options) {
  const env = { RUSTUP_TOOLCHAIN: TOOLCHAIN, CARGO_TARGET_DIR: join(directory, "target"), CARGO_INCREMENTAL: "0" };
  return run(cargoFuzz, ["fuzz", command, ...args], { cwd: directory, ...options, env: { ...process.env, ...env } });
}
