// The compiler's incremental state and the disk.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { freeDisk, requireFreeDisk, withoutIncrementalState } from "../../scripts/lib/disk.mjs";
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

test("a build that needs more than the free disk space does not begin, and says so", () => {
  requireFreeDisk(0);
  assert.throws(() => requireFreeDisk(1e6), /^Error: it is built only with 1000000 GB of free disk space, of which there are \d+\.\d$/);
});
