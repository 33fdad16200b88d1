// `npm test`: runs all checks. The last line of its output is `N passed, N failed, N skipped`, over all of
// them.
import { delimiter, join } from "node:path";
import { parseArgs } from "node:util";

import { buildCli, buildWorker, cliDir } from "./build.mjs";
import { Cleanup, temporaryDirectory } from "./lib/cleanup.mjs";
import { ensureClients } from "./lib/clients.mjs";
import { Deadline } from "./lib/deadline.mjs";
import { freeDisk, withoutIncrementalState } from "./lib/disk.mjs";
import { endWithParent } from "./lib/lifetime.mjs";
import { continueUnderNewNode, nodeForWrangler } from "./lib/npm.mjs";
import { logDir, npmFile } from "./lib/paths.mjs";
import { ask, run } from "./lib/run.mjs";
import { say } from "./lib/step.mjs";
import { readCargoTest, Tally } from "./lib/tally.mjs";
import { longestFirst, runTestFiles, testFiles, testsUnderWay } from "./lib/test-files.mjs";
import { checkWorkflows } from "./lib/workflow-linters.mjs";
import { startNativeServer } from "./native-server.mjs";
import { startServer } from "./server.mjs";
import { buildEnv, setup } from "./setup.mjs";

/**
 * The maximum compressed size of the Worker: 347 KiB for the registry protocols, OpenPGP included, 31 for the mirror, 86 for
 * pull-through, 31 for OCI, 80 for OCI pushes, 35 for tokens, release status and the audit log, 40 for CI jobs, 55 for
 * sign-in, 32 for request logs, concurrent publishers and staged uploads, 53 for repair and copies, 24 for lost releases,
 * mounts of published blobs, sources and the checks of settings, 230 for documentation, search and the API, 190 for the pages:
 * templates, Markdown with its table of entities, and the stylesheet, 25 for erasures, 84 for delegated namespaces, stored rules, webhooks,
 * blocked providers, erased pushes, own tokens and log fields, 36 for repeated requests, limits of delegates, warnings about rules and
 * erasures that heal, 18 for blocks of namespaces, rules that match nothing and the audit of repairs, 49 for the Model Context Protocol, 16 for the facts of
 * `terrace doctor` and indices that nobody could compare, 8 for archives from the edge, 14 for OAuth clients, 21 for concurrent operations of a
 * publish, the notice about settings and missing lists, 47 for a second bucket; minus 60, which one reader of JSON and a limit of
 * inlining save, and minus 70, which sorting the functions by name saves. Each isolate validates all of it when it starts, so the budget does not grow without a measurement of that
 * (`npm run test:perf -- --start`).
 */
const BUDGET_KIB = 1474;

/** The number of mutations of the fuzzing corpus per target, which take a second or two. */
const MUTATIONS = "15000";

/** All tests come from one address; some of them send wrong credentials, and some read lists of the whole registry. */
const NO_LIMITS = { TERRACE_FAILURES_A_MINUTE: "100000", TERRACE_SEARCHES_A_MINUTE: "100000" };

/** The tests with real clients that are repeated against `terrace serve`: one for each protocol and each kind of archive URL. */
const ON_NATIVE_HOST = [
  "mirror/mirror-add",
  "mirror/pull",
  "oci/oci",
  "oci/oci-access",
  "oci/oci-conformance",
  "oci/oci-push",
  "registry/gpg",
  "registry/https",
  "registry/modules",
  "registry/providers",
].map((name) => join("tests", "clients", `${name}.test.mjs`));

/** The hostname by which some tests reach the registry, besides its own. The Worker is reached by every name. */
const OTHER_HOSTNAME = "evil.example";

/** The tests over HTTP that download archives and blobs. */
const OF_ARCHIVES = ["http::registry::archives", "http::oci::blobs"];

/**
 * A little less than the 90 minutes after which CI ends the run without a report. A fresh run has taken 27 minutes in CI on one day, and
 * more than 75 on another.
 */
const MINUTES = "84";

endWithParent();
say(freeDisk());
Object.assign(process.env, withoutIncrementalState(process.env));
const deadline = new Deadline("npm test", minutes(), testsUnderWay);
const tally = new Tally();

if (await tally.attempt(setup)) {
  deadline.pause();
  await continueUnderNewNode();
  deadline.resume();
  await testScripts();
  await checkWorkflows(tally);
  await checkRust();
  const tests = await buildTests();
  const preparation = startPreparation();
  if (tests) await testNatively();
  else tally.skip("cargo test", "the tests were not built");
  // Not beside the tests, which run another build of the command under the same name.
  const cli = await tally.attempt(buildCli);
  const worker = await preparation.worker;
  say(freeDisk());
  if (worker) await checkUpload();
  await testOverHttp({ worker, cli });
  const clients = await preparation.clients;
  if (worker) await checkReads();
  if (worker && cli) await testWithClients(clients);
  else tally.skip("tests with real clients", "the Worker or the terrace command was not built");
}
say(freeDisk());
say(`\n${tally}`);
process.exitCode = tally.failed > 0 ? 1 : 0;

/** Reads `npm test -- --minutes N`, the time limit of the whole run. */
function minutes() {
  const { values } = parseArgs({ options: { minutes: { type: "string", default: MINUTES } } });
  const given = Number(values.minutes);
  if (!(given > 0)) throw new Error(`--minutes ${values.minutes} is not a number of minutes`);
  return given;
}

/** Tests the test runner first, because it must end tests that hang. */
async function testScripts() {
  await tally.count("tests of the scripts", async () => runTestFiles(await testFiles("scripts")));
}

async function checkRust() {
  const cargo =
    (args, env = {}) =>
    (log) =>
      run("cargo", args, { log, env: { ...process.env, ...env } });
  await tally.check("cargo fmt", cargo(["fmt", "--all", "--check"]));
  await tally.check("cargo clippy", cargo(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]));
  await tally.check("cargo doc", cargo(["doc", "--workspace", "--no-deps"], { RUSTDOCFLAGS: "-D warnings" }));
  if (await ask("cargo", ["deny", "--version"])) await tally.check("cargo deny", cargo(["deny", "--workspace", "check"]));
  else tally.skip("cargo deny", "it is not on PATH");
}

/** Builds the tests in a step of its own, so that the log shows how long it takes. */
async function buildTests() {
  say(freeDisk());
  return tally.check("building the tests", (log) => run("cargo", ["test", "--workspace", "--no-run"], { log }));
}

/** Runs all tests without a server, whatever the caller's environment contains. */
async function testNatively() {
  const env = { TERRACE_MUTATIONS: MUTATIONS, ...process.env, TERRACE_TEST_URL: undefined };
  await tally.suite("cargo test", "cargo", ["test", "--workspace", "--no-fail-fast"], readCargoTest, { env });
}

/**
 * Starts the work that keeps a single core busy for long or waits for the network; it runs beside the tests that measure
 * nothing. Its parts follow each other, because the builds would wait for each other, and the downloads are the last that is
 * needed. Returns promises of whether the Worker was built, and of the programs of the tests with real clients.
 */
function startPreparation() {
  const worker = tally.attempt(buildWorker);
  const clients = worker.then((isBuilt) => (isBuilt ? ensureClients() : null));
  // It is awaited later, and rejects then.
  clients.catch(() => {});
  return { worker, clients };
}

/** Checks the upload of `wrangler deploy`, and its size. */
async function checkUpload() {
  await tally.check("wrangler deploy --dry-run", async (log) => {
    const cleanup = new Cleanup();
    const outDir = temporaryDirectory(cleanup);
    try {
      const wrangler = ["--no-warnings", npmFile("wrangler", "bin", "wrangler.js")];
      const env = { ...(await buildEnv()), CI: "1", WRANGLER_SEND_METRICS: "false", WRANGLER_HIDE_BANNER: "true" };
      const { output } = await run(nodeForWrangler(), [...wrangler, "deploy", "--dry-run", "--outdir", outDir], {
        env,
        log,
      });
      const size = output.match(/Total Upload: (.+?) \/ gzip: ([\d.]+) KiB/);
      if (!size) throw new Error(`wrangler's output no longer contains the size of the upload:\n${output}`);
      say(`  ${size[1]}, ${size[2]} KiB compressed; the budget is ${BUDGET_KIB} KiB`);
      if (Number(size[2]) > BUDGET_KIB)
        throw new Error(`The Worker is over its budget of ${BUDGET_KIB} KiB compressed.`);
    } finally {
      await cleanup.run();
    }
  });
}

/** Checks the cost of reads against the floor. Nothing may run beside it. */
async function checkReads() {
  if (process.platform !== "linux") return tally.skip("reads beside the floor", "CPU time per process can be measured only on Linux");
  const bench = [join("scripts", "bench.mjs"), "--quick", "--rounds", "5", "--ms", "100"];
  return tally.check("reads beside the floor", (log) => run(nodeForWrangler(), bench, { log }));
}

/**
 * Repeats the tests of `tests/it/http` against the built Worker, with each kind of archive URL, and against `terrace serve`: two
 * servers at a time, because each keeps one core busy.
 */
async function testOverHttp({ worker, cli }) {
  if (!worker) tally.skip("HTTP tests", "the Worker was not built");
  if (!cli) tally.skip("HTTP tests, native host", "the terrace command was not built");
  const series = [
    async () => {
      if (worker) await testWorker("presigned");
      if (worker) await testWorker("edge", OF_ARCHIVES);
    },
    async () => {
      if (worker) await testWorker("worker");
      if (cli) await testNativeHost();
    },
  ];
  await Promise.all(series.map((work) => work()));
}

/** Repeats them against the built Worker in workerd. */
async function testWorker(mode, filters) {
  await withServer(mode, (server) => testServer(`HTTP tests, ${mode} URLs`, server, mode, filters));
}

/** Repeats the same tests against `terrace serve`. */
async function testNativeHost() {
  const cleanup = new Cleanup();
  const vars = { ...NO_LIMITS, TERRACE_HOSTNAMES: OTHER_HOSTNAME };
  let server;
  if (await tally.attempt(async () => (server = await startNativeServer(cleanup, { vars })))) {
    await testServer("HTTP tests, native host", server, "worker");
  }
  await cleanup.run().catch((error) => tally.attempt(() => Promise.reject(error)));
}

/** Runs the tests of `tests/it/http` against a server whose archives have URLs of this kind: `presigned`, `worker` or `edge`. */
async function testServer(title, server, mode, filters = ["http::"]) {
  const env = {
    ...process.env,
    TERRACE_TEST_URL: server.url,
    TERRACE_TEST_TOKEN: server.secrets.adminToken,
    TERRACE_TEST_MODE: mode,
  };
  return tally.suite(title, "cargo", ["test", "--workspace", "--test", "it", "--", ...filters], readCargoTest, { env });
}

async function withServer(mode, work) {
  const cleanup = new Cleanup();
  const vars = { ...NO_LIMITS, ...(mode === "edge" && { TERRACE_DOWNLOADS: mode }) };
  const options = { presign: mode === "presigned", vars, say };
  let server;
  if (await tally.attempt(async () => (server = await startServer(cleanup, options)))) await work(server);
  await cleanup.run().catch((error) => tally.attempt(() => Promise.reject(error)));
}

/** Runs the tests with terraform and other clients; each test file starts its own server. */
async function testWithClients({ directories, reasons }) {
  say(freeDisk());
  const env = {
    ...process.env,
    PATH: [cliDir, ...directories, process.env.PATH].join(delimiter),
    TERRACE_TEST_ABSENT: JSON.stringify(reasons),
  };
  await tally.count("tests with real clients", async () => runTestFiles(longestFirst(await testFiles("clients")), { env }));
  const native = { env: { ...env, TERRACE_TEST_HOST: "native" }, logs: join(logDir, "tests", "native") };
  await tally.count("tests with real clients, native host", () => runTestFiles(ON_NATIVE_HOST, native));
}
