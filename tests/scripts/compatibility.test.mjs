// The table of tested clients in docs/compatibility.md.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { withTable } from "../../scripts/lib/compatibility.mjs";
import { root } from "../../scripts/lib/paths.mjs";
import { test } from "../clients/support/testing.mjs";

test("the table in docs/compatibility.md is that of the recorded results", async () => {
  const read = (name) => readFile(join(root, "docs", name), "utf8");
  const text = await read("compatibility.md");
  assert.equal(withTable(text, JSON.parse(await read("compatibility.json"))), text);
  assert.throws(() => withTable("# Tested clients\n", []), /no place for the table/);
});
