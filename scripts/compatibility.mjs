// `npm run compatibility -- DIR…`: runs every terraform and tofu in these directories against a local registry, and renews the
// table in docs/compatibility.md from the outcomes. The names of the programs do not matter: each is asked for its version.
//
// For a CI matrix with one client each: `--built` runs the Worker in build/ as it is, `--results FILE` writes the outcomes into
// another file and leaves the documentation as it is, and `--merge FILE…` renews the table from such files.
import { access, constants, readdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { buildWorker } from "./build.mjs";
import { CLIENTS } from "./lib/clients.mjs";
import { Cleanup, temporaryDirectory } from "./lib/cleanup.mjs";
import { merged, parseClient, resultsOf, table, withTable } from "./lib/compatibility.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode } from "./lib/npm.mjs";
import { root } from "./lib/paths.mjs";
import { ask } from "./lib/run.mjs";
import { main, say } from "./lib/step.mjs";
import { Tally } from "./lib/tally.mjs";
import { runTestFiles, testFiles } from "./lib/test-files.mjs";
import { setup } from "./setup.mjs";

const RESULTS = join(root, "docs", "compatibility.json");
const DOCUMENT = join(root, "docs", "compatibility.md");

endWithParent();
await main(async () => {
  const options = { results: { type: "string" }, built: { type: "boolean" }, merge: { type: "boolean" } };
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  if (positionals.length === 0) throw new Error("usage: npm run compatibility -- DIR… [--built] [--results FILE], or --merge FILE…");
  if (values.merge) return renew((await Promise.all(positionals.map(readResults))).flat());
  if (!values.built) await setup();
  await continueUnderNewNode();
  if (!values.built) await buildWorker();
  const results = await runClients(await clientsIn(positionals));
  say(`\n${table(results)}`);
  if (values.results) await writeResults(values.results, results);
  else await renew(results);
});

/** Returns `{ name, version, program }` for the clients in these directories. One version is tested once. */
async function clientsIn(directories) {
  const found = new Map();
  for (const directory of directories) {
    for (const program of (await programsIn(directory)).filter((file) => /(terraform|tofu)[^/\\]*$/i.test(file))) {
      const client = parseClient((await ask(program, ["version"], { env: { ...process.env, CHECKPOINT_DISABLE: "1" } })) ?? "");
      if (client) found.set(`${client.name} ${client.version}`, { ...client, program });
    }
  }
  if (found.size === 0) throw new Error(`there is no terraform or tofu in ${directories.join(", ")}`);
  say(`clients: ${[...found.keys()].join(", ")}`);
  return [...found.values()];
}

/** Returns the executable files in a directory and in its own directories. */
async function programsIn(directory) {
  const names = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  const programs = await Promise.all(files.map((file) => access(file, constants.X_OK).then(() => realpath(file), () => null)));
  return programs.filter(Boolean);
}

async function runClients(clients) {
  const tally = new Tally();
  const cleanup = new Cleanup();
  try {
    const outcomes = join(temporaryDirectory(cleanup), "outcomes");
    // Without it, the tests of signing in are skipped.
    await CLIENTS.chromium.ensure().catch(() => {});
    const env = { ...process.env, TERRACE_TEST_HOST: "workerd", TERRACE_COMPATIBILITY: JSON.stringify({ clients, outcomes }) };
    await tally.count("tests with clients", async () => runTestFiles(await testFiles("compatibility"), { env }));
    say(`${tally}`);
    if (tally.failed > 0) process.exitCode = 1;
    const lines = (await readFile(outcomes, "utf8").catch(() => "")).split("\n").filter(Boolean);
    return resultsOf(clients, lines.map((line) => JSON.parse(line)), new Date().toISOString().slice(0, 10));
  } finally {
    await cleanup.run();
  }
}

async function readResults(file) {
  return JSON.parse(await readFile(file, "utf8"));
}

async function writeResults(file, results) {
  await writeFile(file, `${JSON.stringify(results, null, 2)}\n`);
}

/** Adds results to docs/compatibility.json, and renews the table from it. */
async function renew(results) {
  const all = merged(await readResults(RESULTS).catch(() => []), results);
  await writeResults(RESULTS, all);
  await writeFile(DOCUMENT, withTable(await readFile(DOCUMENT, "utf8"), all));
  say(`${table(all)}\ndocs/compatibility.md is renewed.`);
}
