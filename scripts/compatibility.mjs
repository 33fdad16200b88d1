// `npm run compatibility -- DIR…`: runs every terraform and tofu in these directories against a local registry, and renews the
// table in docs/compatibility.md from the outcomes. The names of the programs do not matter: each is asked for its version.
import { access, constants, readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { buildWorker } from "./build.mjs";
import { Cleanup, temporaryDirectory } from "./lib/cleanup.mjs";
import { CLIENTS } from "./lib/clients.mjs";
import { merged, parseClient, resultsOf, table, withTable } from "./lib/compatibility.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode } from "./lib/npm.mjs";
import { root } from "./lib/paths.mjs";
import { ask } from "./lib/run.mjs";
import { main, say } from "./lib/step.mjs";
import { runFiles, testFiles } from "./lib/tests.mjs";
import { setup } from "./setup.mjs";

const RESULTS = join(root, "docs", "compatibility.json");
const DOCUMENT = join(root, "docs", "compatibility.md");

endWithParent();
await main(async () => {
  const directories = process.argv.slice(2);
  if (directories.length === 0) throw new Error("usage: npm run compatibility -- DIR…");
  await setup();
  await continueUnderNewNode();
  await buildWorker();
  const results = await runClients(await clientsIn(directories));
  const all = merged(JSON.parse(await readFile(RESULTS, "utf8")), results);
  await writeFile(RESULTS, `${JSON.stringify(all, null, 2)}\n`);
  await writeFile(DOCUMENT, withTable(await readFile(DOCUMENT, "utf8"), all));
  say(`\n${table(all)}\ndocs/compatibility.md is renewed.`);
});

/** Returns `{ name, version, program }` for the clients in these directories and in their own. One version is tested once. */
async function clientsIn(directories) {
  const found = new Map();
  for (const directory of directories) {
    for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
      if (entry.isDirectory() || !/(terraform|tofu)[^/\\]*$/i.test(entry.name)) continue;
      const file = join(entry.parentPath, entry.name);
      const program = await access(file, constants.X_OK).then(() => realpath(file), () => null);
      const client = program && parseClient((await ask(program, ["version"], { env: { ...process.env, CHECKPOINT_DISABLE: "1" } })) ?? "");
      if (client) found.set(`${client.name} ${client.version}`, { ...client, program });
    }
  }
  if (found.size === 0) throw new Error(`there is no terraform or tofu in ${directories.join(", ")}`);
  say(`clients: ${[...found.keys()].join(", ")}`);
  return [...found.values()];
}

async function runClients(clients) {
  const cleanup = new Cleanup();
  try {
    const outcomes = join(temporaryDirectory(cleanup), "outcomes");
    // Without it, the tests of signing in are skipped.
    await CLIENTS.chromium.ensure().catch(() => {});
    const variables = { TERRACE_TEST_HOST: "workerd", TERRACE_COMPATIBILITY: JSON.stringify({ clients, outcomes }) };
    await runFiles("tests with clients", await testFiles("compatibility"), { variables, minutes: 5 * (1 + clients.length) });
    const lines = (await readFile(outcomes, "utf8").catch(() => "")).split("\n").filter(Boolean);
    return resultsOf(clients, lines.map((line) => JSON.parse(line)), new Date().toISOString().slice(0, 10));
  } finally {
    await cleanup.run();
  }
}
