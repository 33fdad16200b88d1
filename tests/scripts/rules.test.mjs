// Rules for all test files, so that none of them can hang, or leave processes and directories behind.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { root } from "../../scripts/lib/paths.mjs";
import { test } from "../clients/support/testing.mjs";

const HARNESS = "tests/clients/support/testing.mjs";
const CLEANUP = "scripts/lib/cleanup.mjs";

/** Returns all JavaScript in these directories, by path from the root of the checkout. */
async function sources(...directories) {
  const found = {};
  for (const directory of directories) {
    for (const file of await readdir(join(root, directory), { recursive: true })) {
      if (file.endsWith(".mjs") && !file.includes("node_modules")) found[`${directory}/${file}`] = await readFile(join(root, directory, file), "utf8");
    }
  }
  return found;
}

test("only the harness imports node:test, which has no time limits", async () => {
  const files = Object.entries(await sources("tests", "scripts", "examples", "packages", "deploy"));
  const taking = files.filter(([, text]) => /^import .* from "node:test"/m.test(text)).map(([path]) => path);
  assert.deepEqual(taking, [HARNESS]);
});

test("temporary directories are created by the helper, which removes them after servers have stopped", async () => {
  const files = Object.entries(await sources("tests", "scripts", "examples", "packages", "deploy"));
  const making = files.filter(([, text]) => /^import .*\btmpdir\b.* from "node:os"/m.test(text)).map(([path]) => path);
  assert.deepEqual(making, [CLEANUP]);
});
