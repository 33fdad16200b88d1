// How many instructions the core's benchmarks take, by callgrind. What is kept in the repository is compared with what is
// counted only where both are made by the same compiler and counted on the same terms.
import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { aptInstall, aptOffers } from "./apt.mjs";
import { root } from "./paths.mjs";
import { ask, isOnPath, run } from "./run.mjs";
import { step } from "./step.mjs";
import { cleanUpAfterTools, ensureGungraunRunner } from "./tools.mjs";

const BASELINE = join(root, "crates", "terrace-core", "benches", "instructions", "baseline.json");

/**
 * How much a count may differ: what the compiler makes of one function depends a little on all others. The smallest
 * benchmarks take less than a thousand instructions, and the allocator's share of them differs by about a hundred between
 * machines (1,518 and 1,619 for one of them).
 */
const TOLERANCE = 0.03;
const TOLERATED = 200;

/** Why instructions cannot be counted here, or `null`. Brings valgrind, if that is all that is missing. */
export async function whyNotCounted() {
  if (process.platform !== "linux") return `callgrind runs on Linux, and this is ${process.platform}`;
  if (isOnPath("valgrind")) return null;
  try {
    if (!(await aptOffers(["valgrind"]))) return "valgrind is not on PATH, and apt does not offer it, or we may not install it";
    await step("installing valgrind", (log) => aptInstall(["valgrind"], log));
    return null;
  } catch (error) {
    return `valgrind is not on PATH, and could not be installed: ${error.message}`;
  }
}

/** Builds the benchmarks, which takes half a minute where the core has changed, and what runs them. */
export async function buildBenchmarks(log) {
  await ensureGungraunRunner();
  await cleanUpAfterTools();
  await run("cargo", [...bench, "--no-run"], { log, env: await environment() });
}

/** Counts: `{ terms, counts }`. */
export async function countInstructions(log) {
  const { stdout } = await run("cargo", [...bench, "--", ...options], { log, env: await environment() });
  const summaries = stdout.split("\n").filter((line) => line.startsWith("{"));
  const counts = Object.fromEntries(summaries.map((line) => counted(JSON.parse(line))).sort());
  if (Object.keys(counts).length === 0) throw new Error("no benchmark has told how many instructions it takes");
  return { terms: await terms(), counts };
}

// Nothing is kept of what a simulated cache would tell.
const options = ["--output-format=json", "--parallel=auto", "--callgrind-args=--cache-sim=no"];

const bench = ["bench", "--package", "terrace-core", "--bench", "instructions"];

/** The library is compiled with the runner's name in it. */
const environment = async () => ({ ...process.env, GUNGRAUN_RUNNER: await ensureGungraunRunner() });

function counted({ module_path: path, id, profiles }) {
  const name = [...path.split("::").slice(1), id].join("/");
  const callgrind = profiles.find(({ tool }) => tool === "Callgrind");
  return [name, callgrind.data.parts.reduce((sum, { metrics }) => sum + metrics.Ir.values.new, 0)];
}

/**
 * What the numbers depend on besides the code. A program in valgrind does not see the machine's own CPU, but one of the few
 * that valgrind imitates; which one depends on what the machine has.
 */
export async function terms() {
  const rustc = await ask("rustc", ["-vV"]);
  const told = (name) => rustc?.match(new RegExp(`^${name}: (.+)$`, "m"))?.[1] ?? "unknown";
  const features = /^flags\s*:(.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1].split(" ") ?? [];
  return {
    rustc: `${told("release")} (${told("commit-hash").slice(0, 9)})`,
    target: told("host"),
    rustflags: process.env.CARGO_ENCODED_RUSTFLAGS ?? process.env.RUSTFLAGS ?? "",
    vectors: ["avx2", "avx"].find((feature) => features.includes(feature)) ?? "none",
    libc: (await ask("getconf", ["GNU_LIBC_VERSION"])) ?? "unknown",
    valgrind: (await ask("valgrind", ["--version"])) ?? "unknown",
  };
}

export const readBaseline = async () => JSON.parse(await readFile(BASELINE, "utf8"));

export const writeBaseline = (found) => writeFile(BASELINE, `${JSON.stringify(found, null, 2)}\n`);

/** Why what is counted on these terms cannot be compared with the baseline, or `null`. */
export function whyNotCompared(baseline, here) {
  const others = Object.entries(here).filter(([name, value]) => baseline.terms[name] !== value);
  if (others.length === 0) return null;
  const told = others.map(([name, value]) => `${name} is ${value || "nothing"} and not ${baseline.terms[name] || "nothing"}`);
  return `the baseline was counted on other terms: ${told.join(", ")}`;
}

/** What differs by more than is tolerated, a line each: slips, gains, and benchmarks that one of both does not have. */
export function differences(baseline, found) {
  const names = [...new Set([...Object.keys(baseline.counts), ...Object.keys(found.counts)])].sort();
  return names.flatMap((name) => {
    const [before, now] = [baseline.counts[name], found.counts[name]];
    if (now === undefined) return [`${name}: is not there any more`];
    if (before === undefined) return [`${name}: ${now}, and is new`];
    const difference = now - before;
    if (Math.abs(difference) <= Math.max(TOLERATED, before * TOLERANCE)) return [];
    const percent = `${difference > 0 ? "+" : ""}${((100 * difference) / before).toFixed(1)} %`;
    return [`${name}: ${now} instructions instead of ${before} (${percent})`];
  });
}
