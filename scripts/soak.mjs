// `npm run soak [-- SECONDS]`: publishers, readers, statements about releases and repair together on workerd, ten minutes
// unless told otherwise; at the end nothing is lost and memory has not grown. `npm test` does the same for a short while.
import { join } from "node:path";

import { buildAll } from "./build.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode, nodeForWrangler } from "./lib/npm.mjs";
import { root } from "./lib/paths.mjs";
import { run } from "./lib/run.mjs";
import { main, say, step } from "./lib/step.mjs";
import { setup } from "./setup.mjs";

const TEN_MINUTES = 600;

endWithParent();

await main(async () => {
  const seconds = Number(process.argv[2] ?? TEN_MINUTES);
  if (!Number.isInteger(seconds) || seconds < 1) throw new Error("npm run soak -- SECONDS wants a number of seconds");
  await setup();
  await continueUnderNewNode();
  await buildAll();
  const test = join(root, "tests", "clients", "soak.test.mjs");
  const env = { ...process.env, TERRACE_SOAK_SECONDS: String(seconds) };
  const { output } = await step(`using a registry for ${seconds} seconds`, (log) =>
    run(nodeForWrangler(), ["--test", "--test-reporter=tap", test], { log, env }),
  );
  const [figures] = output.match(/\{"publishes".*\}/) ?? [];
  say(`  ${figures}`);
});
