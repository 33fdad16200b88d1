// `npm test`: runs what every change must pass. `npm run test:more` runs the rest, and `npm test -- all`, as in CI, provides the
// clients and runs both. The last line of the output is `N passed, N failed, N skipped`.
import { availableParallelism } from "node:os";
import { join } from "node:path";

import { levelsOf } from "../tests/levels.mjs";
import { buildCli, buildWorker, checkWorker, optimisedWorker } from "./build.mjs";
import { Cleanup, temporaryDirectory } from "./lib/cleanup.mjs";
import { find, provideClients, whyAbsent } from "./lib/clients.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode, ensureNpmPackages, nodeForWrangler } from "./lib/npm.mjs";
import { npmFile } from "./lib/paths.mjs";
import { endAll, lastLine, run } from "./lib/run.mjs";
import { say, slowest, stepsUnderWay } from "./lib/step.mjs";
import { cargoTests, nodeTests, Tally, testFiles } from "./lib/tests.mjs";
import { startNativeServer } from "./native-server.mjs";
import { startServer } from "./server.mjs";
import { buildEnv, setup } from "./setup.mjs";

/** The parts of each level, in their order. */
const LEVELS = { test: [testEveryChange], more: [testMore], all: [provide, testEveryChange, testMore] };

/** A little less than the 90 minutes after which CI ends the run without a report. */
const MINUTES = 84;

/** All tests come from one address; some of them send wrong credentials, and some read lists of the whole registry. */
const NO_LIMITS = { TERRACE_FAILURES_A_MINUTE: "100000", TERRACE_SEARCHES_A_MINUTE: "100000" };

/** The hostname by which some tests reach the registry, besides its own. The Worker is reached by every name. */
const OTHER_HOSTNAME = "evil.example";

/** The tests over HTTP that download archives and blobs. */
const OF_ARCHIVES = ["http::registry::archives", "http::oci::blobs"];

/** The native tests that generate cases: few for every change, and many in `npm run test:more`. */
const GENERATED = [
  "mutations_of_the_corpus",
  "indices_follow_the_facts",
  "a_publish_broken_several_times",
  "parts_of_hostile_documents",
  "no_place_of_any_command_repeats_a_secret",
];

/** Three native tests a core, because many wait for a time limit: so those of the command take half as long. */
const TEST_THREADS = 3 * availableParallelism();

/** The feature of a command that serves object stores, and its native tests. */
const OBJECT_STORES = "terrace-cli/object-store";
const OF_STORES = ["objects::", "of_a_store"];

/** The native test of a command without that feature. */
const WITHOUT_STORES = ["a_build_without_object_stores"];

/**
 * The linters of the workflows, of the action and of dependencies, and their arguments. zizmor asks no server, so that its result
 * depends on the files alone.
 */
const LINTERS = {
  actionlint: [],
  zizmor: ["--offline", "--no-progress", "--persona=pedantic", ".github", "terrace-action"],
  shellcheck: [join("terrace-action", "check.sh"), join("terrace-action", "install.sh"), join("terrace-action", "publish.sh")],
  "cargo-deny": ["--workspace", "check"],
};

const level = process.argv[2] ?? "test";
if (!Object.hasOwn(LEVELS, level)) throw new Error(`usage: node scripts/test.mjs [${Object.keys(LEVELS).join("|")}]`);

/** The command serves object stores in all but `npm test`: in CI, which runs both levels, each crate is compiled once. */
const objectStores = level !== "test";
const WORKSPACE = ["--workspace", ...(objectStores ? ["--features", OBJECT_STORES] : [])];

const tally = new Tally();
endWithParent();
let runs = [];
if (await tally.attempt(prepare)) {
  await continueUnderNewNode();
  setTimeout(giveUp, MINUTES * 60_000).unref();
  for (const part of LEVELS[level]) await part().catch((error) => tally.attempt(() => Promise.reject(error)));
}
report();

async function prepare() {
  runs = levelsOf(await testFiles("acceptance", "clients", "compatibility", "ecosystem", "scripts"));
  await ensureNpmPackages();
}

function report() {
  say("\nThe slowest steps:");
  for (const line of slowest(10)) say(line);
  say(`\n${tally}`);
  process.exitCode = tally.failed > 0 ? 1 : 0;
}

async function giveUp() {
  endAll();
  await tally.attempt(() => Promise.reject(new Error(`the run did not end within ${MINUTES} minutes; it was waiting for: ${stepsUnderWay().join("; ")}`)));
  report();
  process.exit();
}

/** Provides the programs that the tests run. Each one that is missing in the end is a failure. */
async function provide() {
  const errors = await provideClients();
  for (const [name, error] of Object.entries(errors)) await tally.attempt(() => Promise.reject(new Error(`${name} is missing: ${lastLine(error)}`)));
}

/** Native tests with few generated cases, the tests over HTTP on both hosts, clients on the native host, and smoke tests on workerd. */
async function testEveryChange() {
  // Beside the native builds, which have another directory: each of the two keeps a core busy for a part of the time.
  const worker = tally.attempt(async () => {
    await setup();
    await buildWorker({ optimised: false });
  });
  await tally.check("cargo fmt", cargo("fmt", "--all", "--check"));
  const cli = await tally.attempt(() => buildCli({ objectStores }));
  await tally.check("cargo clippy", cargo("clippy", ...WORKSPACE, "--all-targets", "--", "-D", "warnings"));
  const isBuilt = await tally.check("building the tests", cargo("test", ...WORKSPACE, "--no-run"));
  if (isBuilt) await nativeTests("cargo test");
  await testGroup("test", "none");
  await Promise.all([cli && isBuilt && testNatively(), (await worker) && isBuilt && testSmoke(checkWorker, "presigned")]);
}

async function testNatively() {
  await testOverHttp("native host", "worker", startNativeServer, { vars: { ...NO_LIMITS, TERRACE_HOSTNAMES: OTHER_HOSTNAME } });
  await testGroup("test", "native");
}

/** Repeats the tests over HTTP and the smoke files on workerd. */
async function testSmoke(worker, ...modes) {
  for (const mode of modes) {
    const vars = { ...NO_LIMITS, ...(mode === "edge" && { TERRACE_DOWNLOADS: mode }) };
    const filters = mode === "edge" ? OF_ARCHIVES : undefined;
    await testOverHttp(`${mode} URLs`, mode, startServer, { presign: mode === "presigned", vars, worker }, filters);
  }
  await tally.tests(`smoke tests on ${worker === checkWorker ? "the Worker of the tests" : "the optimised Worker"}`, async (log) => {
    const { startSmokeServer } = await import("../tests/smoke/support/server.mjs");
    return withCleanup(async (cleanup) => nodeTests(log, await testFiles("smoke"), { variables: await startSmokeServer(cleanup, { worker }) }));
  });
}

/** What `npm test` leaves out: many generated cases, object stores, the optimised Worker, and the other files on both hosts. */
async function testMore() {
  const worker = tally.attempt(async () => {
    await setup();
    await buildWorker();
    await checkUpload();
  });
  for (const [name, args] of Object.entries(LINTERS)) {
    const absent = whyAbsent(name);
    if (absent) tally.skip(name, absent);
    else await tally.check(name, (log) => run(find(name), args, { log }));
  }
  const doc = ["doc", ...WORKSPACE, "--no-deps"];
  await tally.check("cargo doc", (log) => run("cargo", doc, { log, env: { ...process.env, RUSTDOCFLAGS: "-D warnings" } }));
  const [title, clippy] = level === "all" ? ["without", ["--package", "terrace-cli", "--all-targets"]] : ["with", [...WORKSPACE, "--all-targets"]];
  await tally.check(`cargo clippy, ${title} object stores`, cargo("clippy", ...clippy, "--", "-D", "warnings"));
  await nativeTests("cargo test, many cases", { names: GENERATED, variables: { TERRACE_CASES: "many" } });
  // With both levels, those of stores ran with all others. Most of the crates that this build of the whole workspace uses are
  // compiled already, which those of the command alone would not be.
  if (level === "more") await nativeTests("cargo test, object stores", { names: OF_STORES });
  else await nativeTests("cargo test, without object stores", { args: ["--workspace", "--test", "cli"], names: WITHOUT_STORES });
  const cli = level === "all" || (await tally.attempt(() => buildCli({ objectStores })));
  await testGroup("more", "none");
  if (cli) await testGroup("more", "native");
  if (!(await worker)) return;
  await testSmoke(optimisedWorker, "worker", "edge");
  if (cli) await testGroup("more", "workerd");
}

/** Runs the files of a level on a host, those with the same variables together. */
async function testGroup(level, host) {
  const wanted = runs.filter((run) => run.level === level && run.host === host);
  const groups = Map.groupBy(wanted, ({ env }) => JSON.stringify(env));
  for (const [variables, group] of groups) {
    const [{ modes }] = group;
    const title = `${level === "test" ? "tests" : "more tests"}, ${host === "none" ? "without a host" : host}${modes ? `, ${modes.join(" and ")} URLs` : ""}`;
    await tally.tests(title, (log) => nodeTests(log, group.map(({ file }) => file), { variables: JSON.parse(variables) }));
  }
}

function cargo(...args) {
  return (log) => run("cargo", args, { log });
}

/**
 * Runs native tests, whatever the caller's environment contains: all of them, or those with one of these texts in their names. A
 * text that no test has counts as a failure: the test has another name now.
 */
function nativeTests(title, { args = WORKSPACE, names = [], variables = {} } = {}) {
  const env = { ...process.env, RUST_TEST_THREADS: String(TEST_THREADS), TERRACE_CASES: undefined, TERRACE_TEST_URL: undefined, ...variables };
  return tally.tests(title, async (log) => {
    const counts = await cargoTests(log, [...args, "--no-fail-fast", "--", ...names], { env });
    const missing = names.filter((name) => !counts.output.includes(name)).map((name) => `no test has ${name} in its name\n`);
    return { ...counts, failed: counts.failed + missing.length, failures: missing.join("") + (counts.failures ?? "") };
  });
}

/** Runs the tests of `tests/it/http` against a server, whose archives have URLs of this kind: `presigned`, `worker` or `edge`. */
async function testOverHttp(title, mode, start, options, filters = ["http::"]) {
  await tally.tests(`HTTP tests, ${title}`, (log) =>
    withCleanup(async (cleanup) => {
      const server = await start(cleanup, options);
      const env = { ...process.env, TERRACE_TEST_URL: server.url, TERRACE_TEST_TOKEN: server.secrets.adminToken, TERRACE_TEST_MODE: mode, ...(start === startServer && { TERRACE_TEST_WRANGLER: "1" }) };
      return cargoTests(log, [...WORKSPACE, "--test", "it", "--", ...filters], { env });
    }),
  );
}

async function withCleanup(work) {
  const cleanup = new Cleanup();
  try {
    return await work(cleanup);
  } finally {
    await cleanup.run();
  }
}

/** Checks the upload of `wrangler deploy`, and prints its size. */
async function checkUpload() {
  await tally.check("wrangler deploy --dry-run", (log) =>
    withCleanup(async (cleanup) => {
      const wrangler = ["--no-warnings", npmFile("wrangler", "bin", "wrangler.js"), "deploy", "--dry-run", "--outdir", temporaryDirectory(cleanup)];
      const env = { ...(await buildEnv()), CI: "1", WRANGLER_SEND_METRICS: "false", WRANGLER_HIDE_BANNER: "true" };
      const { output } = await run(nodeForWrangler(), wrangler, { env, log });
      say(`  ${output.match(/Total Upload: .+/)?.[0]}`);
    }),
  );
}
