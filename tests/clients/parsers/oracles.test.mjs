// Archives, keys and signatures: compares the core's verdicts with those of the Go libraries in
// terraform and tofu. The program is tests/clients/go-oracles, built with the versions of go-crypto in
// OpenTofu and Terraform. TERRACE_ORACLE_CASES sets the number of cases, TERRACE_SEED the seed.
import assert from "node:assert/strict";

import { root } from "../../../scripts/lib/paths.mjs";
import { run } from "../../../scripts/lib/run.mjs";
import { unlessOnPath } from "../support/programs.mjs";
import { before, describe, test } from "../support/testing.mjs";
import { buildVerdicts, CASES, KEPT, SEED } from "../support/verdicts.mjs";

/** The kinds of cases, the program with the libraries, and their share of all cases. */
const ORACLES = [
  ["zip", "go-oracles", 0.25],
  ["tar", "go-oracles", 0.25],
  ["openpgp", "go-oracles", 0.3],
  ["openpgp", "go-oracles-terraform", 0.2],
];

/** The minimum share of accepted cases: if nearly all are refused, little is compared. */
const LEAST_ACCEPTED = 0.08;

let terrace;

describe("the core and the libraries of clients", () => {
  before(async () => (terrace = await buildVerdicts()));

  for (const [oracle, program, share] of ORACLES) {
    test(`${oracle} cases are accepted only if ${program} accepts them`, { skip: unlessOnPath(program) }, async (t) => {
      const count = Math.ceil(CASES * share);
      const numbers = ["-seed", `${SEED}`, "-count", `${count}`, "-keep", KEPT];
      const { stdout } = await run(program, ["-root", root, "-verdicts", terrace, "-oracle", oracle, ...numbers]);
      const { differences, stricter, ...counts } = JSON.parse(stdout);
      t.diagnostic(`${oracle} by ${program}: ${JSON.stringify(counts)}, stricter: ${JSON.stringify(stricter)}`);
      assert.deepEqual(differences, [], differences.join("\n"));
      assert.ok(counts.accepted > count * LEAST_ACCEPTED, `only ${counts.accepted} of ${count} cases were accepted`);
    });
  }
});
