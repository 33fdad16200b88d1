// `npm run pages`: renews the pictures of the pages in docs/images.
import { parseArgs } from "node:util";

import { buildAll } from "./build.mjs";
import { Cleanup } from "./lib/cleanup.mjs";
import { CLIENTS } from "./lib/clients.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode } from "./lib/npm.mjs";
import { main, say } from "./lib/step.mjs";
import { setup } from "./setup.mjs";

const USAGE = `npm run pages [-- OPTIONS]

  --screenshots  renew the pictures of pages in docs/images
  --recording    renew the recording of the first steps in docs/images
  --serve        run the registry of the pictures until Ctrl-C

Without an option, the first.
`;

const OPTIONS = Object.fromEntries(["screenshots", "recording", "serve", "help"].map((name) => [name, { type: "boolean", default: false }]));

endWithParent();
await main(async () => {
  const { values: wanted } = parseArgs({ options: OPTIONS });
  if (wanted.help) return say(USAGE);
  if (!Object.values(wanted).includes(true)) wanted.screenshots = true;
  await setup();
  await continueUnderNewNode();
  await buildAll();
  await CLIENTS.chromium.ensure();
  const cleanup = new Cleanup();
  process.once("SIGINT", () => cleanup.run().finally(() => process.exit(1)));
  try {
    await work(wanted, cleanup);
  } finally {
    await cleanup.run();
  }
});

/** Imports each part only where it is wanted, after `setup`: it needs npm packages. */
async function work({ screenshots, recording, serve }, cleanup) {
  if (screenshots) await (await import("./pages/screenshots.mjs")).takeScreenshots(cleanup);
  if (recording) await (await import("./pages/recording.mjs")).record(cleanup);
  if (!serve) return;
  const { PAGES, startWithPackages } = await import("./pages/registry.mjs");
  const registry = await startWithPackages(cleanup);
  for (const path of Object.values(PAGES)) say(`  ${new URL(path, registry.url)}`);
  await registry.ended;
}
