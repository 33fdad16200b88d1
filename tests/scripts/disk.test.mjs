// The disk: the compiler's incremental state, free space, and logs on a full one.
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

import { freeDisk, withoutIncrementalState } from "../../scripts/lib/disk.mjs";
import { run, serveProgram } from "../../scripts/lib/run.mjs";
import { scratch } from "../clients/support/scratch.mjs";
import { test } from "../clients/support/testing.mjs";

test("incremental state is stored only where a build has stored some", async (t) => {
  const clone = scratch(t);
  assert.deepEqual(withoutIncrementalState({}, clone), { CARGO_INCREMENTAL: "0" });
  assert.deepEqual(withoutIncrementalState({ CARGO_INCREMENTAL: "1" }, clone), {}, "the caller decides");
  mkdirSync(join(clone, "target", "debug", "incremental"), { recursive: true });
  assert.deepEqual(withoutIncrementalState({}, clone), {});
});

test("free disk space is stated in gigabytes", () => {
  assert.match(freeDisk(), /^free disk space: \d+\.\d GB for the project, \d+\.\d GB for temporary files$/);
});

/** A file that takes no byte, as on a full disk. */
const FULL = "/dev/full";

test("a program whose log cannot be written runs to its end", async (t) => {
  if (!existsSync(FULL)) return t.skip(`this system has no ${FULL}`);
  const script = 'console.log("x".repeat(1_000_000))';
  const { output } = await run(process.execPath, ["-e", script], { log: FULL });
  assert.equal(output.length, 1_000_001);
  const server = await serveProgram(process.execPath, ["-e", script], { log: FULL });
  assert.equal(await server.ended, 0, "it was not blocked");
  await server.logged;
});
