// The verdicts of Terrace's core on single cases, from the example program `verdicts` of terrace-core, for
// comparison with those of other implementations.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { exe, root, stateDir } from "../../../scripts/lib/paths.mjs";
import { run } from "../../../scripts/lib/run.mjs";
import { runs } from "./programs.mjs";

const PROGRAM = join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "debug", "examples", exe("verdicts"));

/** The directory for cases that differ. */
export const KEPT = join(stateDir, "oracles");

/** The total number of cases of all tests. */
export const CASES = Number(process.env.TERRACE_ORACLE_CASES ?? 10_000);

/** The seed of the cases. */
export const SEED = Number(process.env.TERRACE_SEED ?? 1);

/** Builds the program, with the dependencies that `npm run test:more` has built, and returns its path. */
export async function buildVerdicts() {
  await run("cargo", ["build", "--quiet", "--workspace", "--features", "terrace-cli/object-store", "--example", "verdicts"]);
  return PROGRAM;
}

/** Returns the verdicts on all cases of a kind. */
export async function verdicts(kind, cases) {
  const frames = cases.flatMap((data) => [Buffer.from(kind), sized(data)]);
  const { stdout } = await runs(PROGRAM, [], { input: Buffer.concat(frames) });
  return stdout.toString().trimEnd().split("\n").map((line) => JSON.parse(line));
}

/** Encodes a length of four bytes, and the bytes. */
export function sized(data) {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(data.length);
  return Buffer.concat([length, data]);
}

/** Writes a case that differs, and returns the command that repeats it. */
export async function keep(kind, name, data) {
  await mkdir(KEPT, { recursive: true });
  const file = join(KEPT, name);
  await writeFile(file, Buffer.concat([Buffer.from(kind), sized(data)]));
  return `${PROGRAM} < ${file}`;
}
