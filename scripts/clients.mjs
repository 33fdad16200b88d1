// `npm run clients`: installs the programs that the tests run into the user's cache, or with apt. Most are built with Go: on two
// cores, the first run takes a quarter of an hour.
import { CLIENTS, provideClients } from "./lib/clients.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { ensureNpmPackages } from "./lib/npm.mjs";
import { lastLine } from "./lib/run.mjs";
import { main, say } from "./lib/step.mjs";

endWithParent();
await main(async () => {
  const started = performance.now();
  // Their Node runs npm.
  await ensureNpmPackages();
  const errors = await provideClients();
  const there = Object.keys(CLIENTS).filter((name) => !(name in errors));
  say(`\nthere: ${there.join(", ")}`);
  for (const [name, error] of Object.entries(errors)) say(`missing: ${name}: ${lastLine(error)}`);
  say(`${there.length} clients there, ${Object.keys(errors).length} missing, ${Math.round((performance.now() - started) / 1000)} s`);
  process.exitCode = there.length < Object.keys(CLIENTS).length ? 1 : 0;
});
