// The folder that people deploy, and the check before a deployment.
import assert from "node:assert/strict";
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";

import { problemsIn, warningsIn } from "../../deploy/check.mjs";
import { temporaryDirectory } from "../../scripts/lib/cleanup.mjs";
import { lockToDeploy } from "../../scripts/lib/lock-file.mjs";
import { nodeForWrangler } from "../../scripts/lib/npm.mjs";
import { npmFile, root } from "../../scripts/lib/paths.mjs";
import { requirements } from "../../scripts/lib/requirements.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { readConfig } from "../../scripts/lib/wrangler-config.mjs";
import { DEPLOYED } from "../../scripts/pack.mjs";
import { currentVersion } from "../../scripts/release/versions.mjs";
import { cleanupOf, describe, test } from "../clients/support/testing.mjs";

/** wrangler takes a second to read a file. */
const ofCheckout = readConfig(join(root, "wrangler.toml"));
const ofFolder = readConfig(join(root, "deploy", "wrangler.jsonc"));
const needs = requirements();

const json = async (...path) => JSON.parse(await readFile(join(root, ...path), "utf8"));

test("the configuration to deploy is that of the checkout, except for the location of the Worker", async () => {
  const { build, main, ...expected } = await ofCheckout;
  const { $schema, main: entry, ...found } = await ofFolder;
  assert.deepEqual(found, expected);
  assert.equal(entry, "src/index.js");
});

test("the platform caches the archives alone, and never the entrypoint that decides who may read", async () => {
  const { cache, exports } = await ofFolder;
  assert.deepEqual(cache, { enabled: false, cross_version_cache: true });
  assert.deepEqual(exports, { default: { type: "worker", cache: { enabled: false } }, Archives: { type: "worker", cache: { enabled: true } } });
  // Every other entrypoint inherits `cache.enabled`.
  const entry = await readFile(join(root, "src", "platform", "entry.js"), "utf8");
  assert.deepEqual([...entry.matchAll(/^export (?:default|class (\w+))/gm)].map(([, name = "default"]) => name).sort(), Object.keys(exports).sort());
  assert.match(await readFile(join(root, "deploy", "src", "index.js"), "utf8"), /^export \{ default, Archives \} from/);
});

test("the packages and the folder have the version of the workspace, and the wrangler of the checkout", async () => {
  const expected = await currentVersion(root);
  const { wrangler } = (await json("package.json")).devDependencies;
  const [worker, attempt, folder] = await Promise.all([["packages", "worker"], ["packages", "try"], ["deploy"]].map((path) => json(...path, "package.json")));
  assert.deepEqual([worker.version, attempt.version, folder.version], [expected, expected, expected]);
  assert.equal(worker.dependencies, undefined);
  assert.deepEqual(attempt.dependencies, { "terrace-registry": expected, wrangler });
  assert.deepEqual([folder.dependencies, folder.devDependencies], [{ "terrace-registry": expected }, { wrangler }]);
});

test("every file of the folder in git is packed, and no other one", async () => {
  const { stdout } = await run("git", ["ls-files", "deploy"], { cwd: root });
  assert.deepEqual(DEPLOYED, stdout.trim().split("\n").map((path) => path.slice("deploy/".length)).sort());
});

test("the Deploy button describes each binding and each secret that it asks for", async () => {
  const { cloudflare } = await json("deploy", "package.json");
  const secrets = Object.keys(parseEnv(await readFile(join(root, "deploy", ".dev.vars.example"), "utf8")));
  const bindings = Object.values((await needs).bindings).flat().map(({ binding, name }) => binding ?? name);
  assert.deepEqual(Object.keys(cloudflare.bindings).sort(), [...bindings, ...secrets].sort());
});

test("the requirements cover every kind of binding in wrangler.toml", async () => {
  const lists = Object.entries(await ofCheckout).filter(([, value]) => Array.isArray(value));
  assert.deepEqual(Object.keys((await needs).bindings).sort(), lists.map(([list]) => list).sort());
});

test("the lock file has the versions of the checkout, and the digests of all packages except that of this version", async () => {
  const file = join(root, "deploy", "package-lock.json");
  const expected = `${JSON.stringify(await lockToDeploy(await json("deploy", "package.json")), null, 2)}\n`;
  if (process.env.TERRACE_PIN) await writeFile(file, expected);
  assert.equal(await readFile(file, "utf8"), expected, "TERRACE_PIN=1 rewrites it");
  const { "": self, "node_modules/terrace-registry": registry, ...others } = JSON.parse(expected).packages;
  assert.deepEqual(Object.entries(others).filter(([, { integrity }]) => !integrity), []);
});

describe("the check before a deployment", () => {
  /** Returns a folder as it is deployed. */
  async function folder(t) {
    const directory = temporaryDirectory(cleanupOf(t));
    const registry = join(directory, "node_modules", "terrace-registry");
    await mkdir(registry, { recursive: true });
    await cp(join(root, "packages", "worker", "package.json"), join(registry, "package.json"));
    await writeFile(join(registry, "requirements.json"), JSON.stringify(await needs));
    await symlink(dirname(npmFile("wrangler", "package.json")), join(directory, "node_modules", "wrangler"), "junction");
    for (const name of ["check.mjs", "package.json", "wrangler.jsonc"]) await cp(join(root, "deploy", name), join(directory, name));
    return directory;
  }

  const check = (directory, ...args) => run(nodeForWrangler(), ["check.mjs", ...args], { cwd: directory, check: false });

  test("accepts the folder as it is", async (t) => {
    const { code, output } = await check(await folder(t));
    assert.equal(code, 0, output);
    assert.match(output, /wrangler\.jsonc has everything that Terrace \d+\.\d+\.\d+ needs/);
  });

  test("refuses a missing binding, and shows the line to add", async (t) => {
    const directory = await folder(t);
    const file = join(directory, "wrangler.jsonc");
    await writeFile(file, (await readFile(file, "utf8")).replace(/^ {2}"kv_namespaces".*\n/m, ""));
    const { code, output } = await check(directory);
    assert.equal(code, 1, output);
    assert.match(output, /Nothing was deployed\..*The binding INDICES is missing.*"kv_namespaces": \[\{"binding":"INDICES"\}\]/s);
  });

  test("explains a folder without packages, and a missing configuration", async (t) => {
    const directory = temporaryDirectory(cleanupOf(t));
    await cp(join(root, "deploy", "check.mjs"), join(directory, "check.mjs"));
    const bare = await check(directory);
    assert.deepEqual([bare.code, bare.output], [1, "terrace-registry/requirements.json is not installed: run `npm ci` first.\n"]);
    const { code, output } = await check(await folder(t), "--config", "none.jsonc");
    assert.deepEqual([code, output], [1, "none.jsonc does not exist. Name your configuration with --config FILE.\n"]);
  });

  test("finds what a configuration lacks, and nothing that is switched off", async () => {
    const { ratelimits, exports } = await ofFolder;
    const [cached, edge] = [{ enabled: true }, { TERRACE_DOWNLOADS: "edge" }];
    const flags = { compatibility_flags: ["a"] };
    for (const [change, pattern, more] of [
      [{ ratelimits: ratelimits.slice(0, 1) }, /The binding SEARCHES is missing.*"namespace_id":"1002"/s],
      [{ compatibility_date: "2024-01-01" }, /The compatibility date is 2024-01-01, and has to be \d{4}-\d\d-\d\d or later/],
      [{ compatibility_date: undefined }, /The compatibility date is missing/],
      [{ compatibility_date: "2099-01-01" }, null],
      [{ compatibility_flags: ["b"] }, /flags are missing: a\..*\["b","a"\]/s, flags],
      [{ compatibility_flags: ["b", "a"] }, null, flags],
      [{ triggers: undefined }, /The cron trigger is missing/],
      [{ triggers: undefined, vars: { TERRACE_REPAIR_OPERATIONS: "0" } }, null],
      [{ cache: cached, exports: undefined }, /The default entrypoint is cached/],
      [{ exports: { ...exports, default: { type: "worker", cache: cached } } }, /The default entrypoint is cached/],
      [{ exports: undefined, cache: undefined }, null],
      [{ exports: undefined, cache: undefined, vars: edge }, /Archives is not cached.*"exports": \{.*"Archives"/s],
      [{ vars: edge }, null],
    ]) await finds(change, pattern, { more });
  });

  /** Asserts the one problem, or none, of the folder's configuration with these changes. */
  async function finds(change, pattern, { more, environment } = {}) {
    const problems = problemsIn({ ...(await ofFolder), ...change }, { ...(await needs), ...more }, environment);
    assert.equal(problems.length, pattern ? 1 : 0, problems.join("\n"));
    if (pattern) assert.match(problems[0], pattern);
  }

  test("warns of the platform's log of whole URLs, which npm create cloudflare switches on", async () => {
    const count = ({ length }) => length;
    assert.equal(count(warningsIn(await ofFolder)), 0);
    assert.equal(count(warningsIn({ observability: { enabled: false } })), 0);
    assert.equal(count(warningsIn({ observability: { enabled: true, logs: { enabled: false } } })), 0);
    assert.match(warningsIn({ observability: { enabled: true } })[0], /"invocation_logs": false/);
    assert.match(warningsIn({ observability: { logs: { enabled: true } } })[0], /whole URL of each request/);
  });

  test("finds an environment without bindings of its own, and checks only the one that is deployed", async () => {
    const { r2_buckets, kv_namespaces, ratelimits } = await ofFolder;
    const env = { staging: { r2_buckets, ratelimits }, complete: { r2_buckets, kv_namespaces, ratelimits } };
    await finds({ env }, /^In env\.staging: The binding INDICES is missing/);
    await finds({ env, kv_namespaces: [] }, /^In env\.staging: The binding INDICES is missing/, { environment: "staging" });
    await finds({ env, kv_namespaces: [] }, null, { environment: "complete" });
    await assert.rejects(finds({}, null, { environment: "other" }), /The configuration has no environment other\./);
  });
});
