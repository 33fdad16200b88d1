// `npm run ecosystem`: runs tools of other projects that are too large for `npm test` against the registry.
// docs/compatibility.md lists all tools that were tested, most of them by hand.
import { buildAll } from "./build.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode } from "./lib/npm.mjs";
import { RENOVATE } from "./lib/renovate.mjs";
import { say } from "./lib/step.mjs";
import { Tally } from "./lib/tally.mjs";
import { runTestFiles, testFiles } from "./lib/test-files.mjs";
import { setup } from "./setup.mjs";

endWithParent();
const tally = new Tally();

if (await tally.attempt(setup)) {
  await continueUnderNewNode();
  if ((await tally.attempt(buildAll)) && (await tally.attempt(() => RENOVATE.ensure()))) {
    const env = { ...process.env, TERRACE_TEST_HOST: "workerd" };
    await tally.count("tests with tools", async () => runTestFiles(await testFiles("ecosystem"), { env }));
  }
}
say(`\n${tally}`);
process.exitCode = tally.failed > 0 ? 1 : 0;
