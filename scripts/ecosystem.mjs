// `npm run ecosystem`: runs tools of other projects that are too large for `npm test` against the registry.
// docs/compatibility.md lists all tools that were tested, most of them by hand.
import { buildAll } from "./build.mjs";
import { RENOVATE } from "./lib/clients.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode } from "./lib/npm.mjs";
import { main, say } from "./lib/step.mjs";
import { nodeTests, Tally, testFiles } from "./lib/tests.mjs";
import { setup } from "./setup.mjs";

endWithParent();
await main(async () => {
  await setup();
  await continueUnderNewNode();
  await buildAll();
  await RENOVATE.ensure();
  const tally = new Tally();
  await tally.tests("tests with tools", async (log) => nodeTests(log, await testFiles("ecosystem"), { variables: { TERRACE_TEST_HOST: "workerd" } }));
  say(`\n${tally}`);
  if (tally.failed > 0) process.exitCode = 1;
});
