// `npm run soak [-- SECONDS]`: runs publishers, readers, status changes and repair together on workerd, by
// default for ten minutes, and checks at the end that nothing is lost and memory has not grown. `npm run
// test:more` does the same for a short while.

import { buildAll } from "./build.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode } from "./lib/npm.mjs";
import { main, say, step } from "./lib/step.mjs";
import { runTestFiles } from "./lib/test-files.mjs";
import { setup } from "./setup.mjs";

const TEN_MINUTES = 600;

endWithParent();

await main(async () => {
  const seconds = Number(process.argv[2] ?? TEN_MINUTES);
  if (!Number.isInteger(seconds) || seconds < 1) throw new Error("the argument of `npm run soak -- SECONDS` must be a whole number of seconds, at least 1");
  await setup();
  await continueUnderNewNode();
  await buildAll();
  const env = { ...process.env, TERRACE_SOAK_SECONDS: String(seconds) };
  const { output } = await step(`using a registry for ${seconds} seconds`, async () => {
    const result = await runTestFiles(["tests/clients/worker/soak.test.mjs"], { env, minutes: 15 + seconds / 60 });
    if (result.error) throw result.error;
    return result;
  });
  const [figures] = output.match(/\{"publishes".*\}/) ?? [];
  say(`  ${figures}`);
});
