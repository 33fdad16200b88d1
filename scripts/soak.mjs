// `npm run soak [-- SECONDS]`: runs publishers, readers, status changes and repair together on workerd, by
// default for ten minutes, and checks at the end that nothing is lost and memory has not grown. `npm run
// test:more` does the same for a short while.
import { buildAll } from "./build.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode } from "./lib/npm.mjs";
import { main, say } from "./lib/step.mjs";
import { runFiles } from "./lib/tests.mjs";
import { setup } from "./setup.mjs";

endWithParent();
await main(async () => {
  const seconds = Number(process.argv[2] ?? 600);
  if (!Number.isInteger(seconds) || seconds < 1) throw new Error("the argument of `npm run soak -- SECONDS` must be a whole number of seconds, at least 1");
  await setup();
  await continueUnderNewNode();
  await buildAll();
  const options = { variables: { TERRACE_SOAK_SECONDS: String(seconds) }, minutes: 15 + seconds / 60 };
  const output = await runFiles(`using a registry for ${seconds} seconds`, ["tests/clients/worker/soak.test.mjs"], options);
  say(`  ${output.match(/\{"publishes".*\}/)?.[0]}`);
});
