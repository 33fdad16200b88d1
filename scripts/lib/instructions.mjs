// Counts the instructions of the core's benchmarks with callgrind. The counts are compared with the
// repository's baseline only if the same compiler and the same conditions produced both.
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
 * The tolerance: the code that the compiler generates for one function depends a little on all others. The
 * smallest benchmarks take less than a thousand instructions, and the allocator's share of them differs by
 * up to 300 between machines (1,518 and 1,619 for one of them, 6,045 and 6,314 for another).
 */
const TOLERANCE = 0.03;
const TOLERATED = 300;

/** Returns the reason why instructions cannot be counted here, or `null`. Installs valgrind if only that is missing. */
export async function whyNotCounted() {
  if (process.platform !== "linux") return `callgrind runs on Linux, and this is ${process.platform}`;
  if (isOnPath("valgrind")) return null;
  try {
    if (!(await aptOffers(["valgrind"]))) return "valgrind is not on PATH, and apt does not offer it, or this user may not install packages";
    await step("installing valgrind", (log) => aptInstall(["valgrind"], log));
    return null;
  } catch (error) {
    return `valgrind is not on PATH, and could not be installed: ${error.message}`;
  }
}

/** Builds the benchmarks, which takes half a minute after a change of the core, and their runner. */
export async function buildBenchmarks(log) {
  await ensureGungraunRunner();
  await cleanUpAfterTools();
  await run("cargo", [...bench, "--no-run"], { log, env: await environment() });
}

/** Counts the instructions; returns `{ terms, counts }`. */
export async function countInstructions(log) {
  const { stdout } = await run("cargo", [...bench, "--", ...options], { log, env: await environment() });
  const summaries = stdout.split("\n").filter((line) => line.startsWith("{"));
  const counts = Object.fromEntries(summaries.map((line) => counted(JSON.parse(line))).sort());
  if (Object.keys(counts).length === 0) throw new Error("no benchmark reported a number of instructions");
  return { terms: await terms(), counts };
}

// The cache simulation is off, because its results are not used.
const options = ["--output-format=json", "--parallel=auto", "--callgrind-args=--cache-sim=no"];

const bench = ["bench", "--package", "terrace-core", "--bench", "instructions"];

/** The library is compiled with the runner's path in it. */
const environment = async () => ({ ...process.env, GUNGRAUN_RUNNER: await ensureGungraunRunner() });

function counted({ module_path: path, id, profiles }) {
  const name = [...path.split("::").slice(1), id].join("/");
  const callgrind = profiles.find(({ tool }) => tool === "Callgrind");
  return [name, callgrind.data.parts.reduce((sum, { metrics }) => sum + metrics.Ir.values.new, 0)];
}

/**
 * Returns the conditions on which the counts depend besides the code. A program in valgrind does not see the
 * machine's own CPU, but one of the few that valgrind emulates; the choice depends on the machine's CPU.
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

/** Returns the reason why counts under these conditions cannot be compared with the baseline, or `null`. */
export function whyNotCompared(baseline, here) {
  const others = Object.entries(here).filter(([name, value]) => baseline.terms[name] !== value);
  if (others.length === 0) return null;
  const told = others.map(([name, value]) => `${name} is ${value || "nothing"} and not ${baseline.terms[name] || "nothing"}`);
  return `the baseline was counted under other conditions: ${told.join(", ")}`;
}

/** Returns the differences beyond the tolerance, one line each: increases, decreases, and benchmarks that only one side has. */
export function differences(baseline, found) {
  const names = [...new Set([...Object.keys(baseline.counts), ...Object.keys(found.counts)])].sort();
  return names.flatMap((name) => {
    const [before, now] = [baseline.counts[name], found.counts[name]];
    if (now === undefined) return [`${name}: missing, but in the baseline`];
    if (before === undefined) return [`${name}: ${now}, not in the baseline`];
    const difference = now - before;
    if (Math.abs(difference) <= Math.max(TOLERATED, before * TOLERANCE)) return [];
    const percent = `${difference > 0 ? "+" : ""}${((100 * difference) / before).toFixed(1)} %`;
    return [`${name}: ${now} instructions instead of ${before} (${percent})`];
  });
}
