// A complete run that does not end: `node whole-run.mjs MINUTES MARK`.
import { join } from "node:path";

import { Deadline } from "../../../scripts/lib/deadline.mjs";
import { run } from "../../../scripts/lib/run.mjs";
import { step } from "../../../scripts/lib/step.mjs";
import { runTestFiles, testsUnderWay } from "../../../scripts/lib/test-files.mjs";

const here = import.meta.dirname;
const [, , minutes] = process.argv;

new Deadline("the run", Number(minutes), testsUnderWay);
await Promise.all([
  step("a program that never ends", () => run(process.execPath, [join(here, "stubborn-server.mjs"), process.env.DIRECTORY])),
  step("tests that never end", () => runTestFiles([join(here, "test-never-ends.mjs")])),
]);
