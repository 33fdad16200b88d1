// The table of tested clients in docs/compatibility.md.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { applies, CHECKS, merged, parseClient, resultsOf, table, withTable } from "../../scripts/lib/compatibility.mjs";
import { root } from "../../scripts/lib/paths.mjs";
import { test } from "../clients/support/testing.mjs";

const OLD = { name: "Terraform", version: "0.13.7" };
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

test("a client is known by what it prints of its version", () => {
  assert.deepEqual(parseClient("Terraform v1.5.7\non linux_amd64\n\nYour version is out of date"), { name: "Terraform", version: "1.5.7" });
  assert.deepEqual(parseClient("OpenTofu v1.12.0-rc1\n"), { name: "OpenTofu", version: "1.12.0-rc1" });
  assert.equal(parseClient("terraform-docs version v0.20.0"), null);
});

test("a feature that no version of a client has at that time is neither tested nor a failure", () => {
  assert.equal(applies("lock", OLD), false);
  assert.equal(applies("lock", { name: "Terraform", version: "0.14.0" }), true);
  assert.equal(applies("oci", { name: "Terraform", version: "99.0.0" }), false);
  assert.equal(applies("oci", { name: "OpenTofu", version: "1.9.4" }), false);
  assert.equal(applies("oci", NEW), true);
  const [result] = resultsOf([OLD], outcomes(OLD), "2026-05-04");
  assert.match(table([result]), /\| Terraform 0\.13\.7 \| yes \| – \| yes \| yes \| yes \| yes \| yes \| – \| 2026-05-04 \|/);
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

test("new results replace those of the same client, and the oldest version comes first", () => {
  const result = (name, version, date) => ({ name, version, date, checks: {} });
  const before = [result("OpenTofu", "1.12.6", "2026-01-01"), result("Terraform", "1.5.7", "2026-01-01")];
  const after = merged(before, [result("Terraform", "1.11.4", "2026-05-04"), result("Terraform", "1.5.7", "2026-05-04")]);
  assert.deepEqual(
    after.map(({ name, version, date }) => `${name} ${version} ${date}`),
    ["Terraform 1.5.7 2026-05-04", "Terraform 1.11.4 2026-05-04", "OpenTofu 1.12.6 2026-01-01"],
  );
});
