// Archives, SHA256SUMS, keys and signatures: the core's verdicts beside those of the Go libraries in terraform and tofu. The
// program is tests/clients/go-oracles, built with the versions of go-crypto that OpenTofu and Terraform have.
// TERRACE_ORACLE_CASES tries more cases, TERRACE_SEED others.
import assert from "node:assert/strict";

import { root } from "../../scripts/lib/paths.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { unlessOnPath } from "./support/programs.mjs";
import { before, describe, test } from "./support/testing.mjs";
import { buildVerdicts, CASES, KEPT, SEED } from "./support/verdicts.mjs";

/** Kinds of cases, the program that judges them, too, and their share of all cases. */
const ORACLES = [
  ["zip", "go-oracles", 0.25],
  ["tar", "go-oracles", 0.25],
  ["shasums", "go-oracles", 0.1],
  ["openpgp", "go-oracles", 0.2],
  ["openpgp", "go-oracles-terraform", 0.2],
];

/** The least share of cases that must be accepted: where all are refused, little is compared. */
const LEAST_ACCEPTED = 0.08;

let terrace;

describe("the core beside the libraries of clients", () => {
  before(async () => (terrace = await buildVerdicts()));

  for (const [oracle, program, share] of ORACLES) {
    test(`${oracle} cases are accepted only where ${program} accepts them`, { skip: unlessOnPath(program) }, async (t) => {
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
