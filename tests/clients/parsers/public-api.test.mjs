// Answers in the shape of the public registry's API: parsed by Terraform's own structures (tests/clients/public-api, with Go
// only), which must write again what they have read.
import assert from "node:assert/strict";
import { join } from "node:path";

import { exe, root } from "../../../scripts/lib/paths.mjs";
import { run } from "../../../scripts/lib/run.mjs";
import { runs, unlessOnPath } from "../support/programs.mjs";
import { describe, test } from "../support/testing.mjs";

const ANSWERS = join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "debug", "examples", exe("public_answers"));

describe("the API of the public registry", () => {
  test("details and lists of modules are read by Terraform's structures", { skip: unlessOnPath("public-api") }, async () => {
    await run("cargo", ["build", "--quiet", "--workspace", "--example", "public_answers"]);
    const { stdout: answers } = await run(ANSWERS, []);
    const { stdout } = await runs("public-api", [], { input: Buffer.from(answers) });
    const { counts, differences } = JSON.parse(stdout.toString());
    assert.deepEqual(counts, { ModuleDetail: 2, ModuleList: 2 });
    assert.deepEqual(differences, [], differences.join("\n"));
  });
});
