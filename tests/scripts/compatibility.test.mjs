// The table of tested clients in docs/compatibility.md.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { applies, CHECKS, resultsOf, withTable } from "../../scripts/lib/compatibility.mjs";
import { root } from "../../scripts/lib/paths.mjs";
import { test } from "../clients/support/testing.mjs";

const NEW = { name: "OpenTofu", version: "1.12.6" };

/** Returns the outcomes of all checks of a client in both modes. */
const outcomes = (client, outcome = "yes") =>
  Object.keys(CHECKS)
    .filter((key) => applies(key, client))
    .flatMap((key) => ["presigned", "worker"].map((mode) => ({ ...client, mode, key, outcome })));

test("the table in docs/compatibility.md is that of the recorded results", async () => {
  const read = (name) => readFile(join(root, "docs", name), "utf8");
  const text = await read("compatibility.md");
  assert.equal(withTable(text, JSON.parse(await read("compatibility.json"))), text);
  assert.throws(() => withTable("# Tested clients\n", []), /no place for the table/);
});

test("a check counts only if it ran in both modes, and had the same outcome", () => {
  const checks = (given) => resultsOf([NEW], given, "2026-05-04")[0].checks;
  const all = outcomes(NEW);
  assert.equal(checks(all).oci, "yes");
  assert.equal(checks(all.filter(({ key, mode }) => key !== "oci" || mode === "worker")).oci, "not run");
  assert.equal(checks(all.map((one) => (one.key === "oci" && one.mode === "worker" ? { ...one, outcome: "fails" } : one))).oci, "fails");
  assert.equal(checks(all.map((one) => (one.key === "oci" && one.mode === "worker" ? { ...one, outcome: "no" } : one))).oci, "fails");
  assert.equal(checks(outcomes(NEW, "no")).oci, "no");
  assert.equal(checks([]).oci, "not run");
});
