// `npm run ecosystem`: runs tools of other projects that are too large for `npm test` against the registry.
// docs/compatibility.md lists all tools that were tested, most of them by hand.
import { buildAll } from "./build.mjs";
import { RENOVATE } from "./lib/clients.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode } from "./lib/npm.mjs";
import { main } from "./lib/step.mjs";
import { runFiles, testFiles } from "./lib/tests.mjs";
import { setup } from "./setup.mjs";

endWithParent();
await main(async () => {
  await setup();
  await continueUnderNewNode();
  await buildAll();
  await RENOVATE.ensure();
  await runFiles("tests with tools", await testFiles("ecosystem"), { variables: { TERRACE_TEST_HOST: "workerd" } });
});
