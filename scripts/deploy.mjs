// `npm run deploy`: checks the configuration and deploys the registry, so that an invalid setting is found before anything
// is live. All options are those of `wrangler deploy`.
import { parseArgs } from "node:util";

import { buildCli, cli } from "./build.mjs";
import { nodeForWrangler } from "./lib/npm.mjs";
import { npmFile } from "./lib/paths.mjs";
import { run, runInTerminal } from "./lib/run.mjs";
import { main, say } from "./lib/step.mjs";
import { setup } from "./setup.mjs";

await main(async () => {
  const options = process.argv.slice(2);
  await setup();
  await buildCli();
  const { output } = await run(cli, ["config", "check", ...configuration(options)]);
  say(output.trim());
  process.exitCode = await runInTerminal(nodeForWrangler(), [npmFile("wrangler", "bin", "wrangler.js"), "deploy", ...options]);
});

/** Returns the arguments of the check: the file and the environment that wrangler's options name. */
function configuration(args) {
  const { values } = parseArgs({
    args,
    strict: false,
    options: { config: { type: "string", short: "c" }, env: { type: "string", short: "e" } },
  });
  return [...(values.config ? [values.config] : []), ...(values.env ? ["--env", values.env] : [])];
}
