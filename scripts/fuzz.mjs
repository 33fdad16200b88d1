// `npm run fuzz [-- --seconds N] [TARGET …]`: searches with libFuzzer for input that crashes a parser. New input is kept in
// fuzz/target/found: `cargo +nightly fuzz cmin TARGET` in fuzz/ makes a corpus of it.
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { endWithParent } from "./lib/lifetime.mjs";
import { root } from "./lib/paths.mjs";
import { ask, run } from "./lib/run.mjs";
import { main, say, step } from "./lib/step.mjs";
import { ensureCargoFuzz } from "./lib/tools.mjs";

const TOOLCHAIN = "nightly";
const directory = join(root, "fuzz");
/** The maximum length of inputs in bytes: a line of text is short, and an archive is not. */
const LONGEST = { zip: 4096, tar: 8192, openpgp: 4096 };
const LONGEST_OTHERWISE = 2048;
/** The limits of one input: memory in MB, and seconds. */
const LIMITS = ["-rss_limit_mb=1024", "-timeout=10"];
/** The approximate rate of a target without optimisation. */
const MUTATIONS_A_SECOND = 2_000;

endWithParent();
await main(async () => {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { seconds: { type: "string", default: "60" } } });
  const seconds = Number(values.seconds);
  if (!Number.isInteger(seconds) || seconds < 1) throw new Error("--seconds must be a whole number of seconds, at least 1");
  const all = (await readdir(join(directory, "fuzz_targets"))).map((file) => file.replace(/\.rs$/, "")).sort();
  const unknown = positionals.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`unknown target ${unknown.join(", ")}; the targets are ${all.join(", ")}`);
  if ((await ask("cargo", [`+${TOOLCHAIN}`, "--version"])) === null) {
    say(`- libFuzzer needs a ${TOOLCHAIN} toolchain, which is not installed; mutations of the corpus are tried instead`);
    const env = { ...process.env, TERRACE_CASES: String(seconds * MUTATIONS_A_SECOND) };
    return step("running the corpus of earlier searches", (log) => run("cargo", ["test", "--package", "terrace", "--test", "it", "fuzzed"], { log, env }));
  }
  const cargoFuzz = await ensureCargoFuzz();
  await step("building the fuzz targets", (log) => fuzz(cargoFuzz, ["build"], log));
  const failed = [];
  for (const target of positionals.length > 0 ? positionals : all) {
    // New inputs go to a separate directory, so that a search by itself changes nothing in the checkout.
    const found = join(directory, "target", "found", target);
    await mkdir(found, { recursive: true });
    const limits = [`-max_total_time=${seconds}`, `-max_len=${LONGEST[target] ?? LONGEST_OTHERWISE}`, ...LIMITS];
    const args = ["run", target, found, join(directory, "corpus", target), "--", ...limits];
    await step(`fuzzing ${target}`, (log) => fuzz(cargoFuzz, args, log)).catch(() => failed.push(target));
  }
  if (failed.length > 0) throw new Error(`these targets failed: ${failed.join(", ")}; the failing inputs are in fuzz/artifacts`);
});

function fuzz(cargoFuzz, args, log) {
  const env = { ...process.env, RUSTUP_TOOLCHAIN: TOOLCHAIN, CARGO_TARGET_DIR: join(directory, "target"), CARGO_INCREMENTAL: "0" };
  return run(cargoFuzz, ["fuzz", ...args], { cwd: directory, env, log });
}
