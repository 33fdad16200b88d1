// The packages, installed from their tarballs on a machine that has only Node and terraform.
import assert from "node:assert/strict";
import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";

import { isWindows } from "../../../scripts/lib/paths.mjs";
import { serveProgram } from "../../../scripts/lib/run.mjs";
import { until } from "../../../scripts/lib/wait.mjs";
import { pack } from "../../../scripts/pack.mjs";
import { freePort } from "../../../scripts/server.mjs";
import { bareEnvironment } from "../support/bare.mjs";
import { run, runs, unlessOnPath } from "../support/programs.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, cleanupOf, describe, test } from "../support/testing.mjs";

/** No Rust, no Go, and none of the programs of this checkout. */
const ABSENT = ["cargo", "rustup", "rustc", "go", "terrace"];

const TOKEN = "the admin token of this test";

/** In milliseconds: the first start makes a key, and a busy machine is slow. */
const START_MS = 300_000;

describe("the packed registry", { skip: isWindows && "the programs on its PATH are POSIX scripts" }, () => {
  const directory = scratch();
  const out = join(directory, "dist");
  let env;
  let packed;
  let folder;

  /** Runs a program in the folder, which must succeed. */
  const inFolder = (command, ...args) => runs(join(env.PATH, command), args, { cwd: folder, env });

  /** Starts `npm run SCRIPT` in the folder, and waits until its log has the text. Returns the log. */
  async function serves(t, script, args, text, more) {
    const logFile = join(directory, `${script}.log`);
    const server = await serveProgram(join(env.PATH, "npm"), ["run", script, ...args], { cwd: folder, env: { ...env, ...more }, log: logFile });
    cleanupOf(t).add(`stopping npm run ${script}`, server.stop);
    const log = () => readFile(logFile, "utf8").catch(() => "");
    const isReady = await until(async () => (await log()).includes(text), { ms: START_MS, ended: server.ended });
    if (!isReady) throw new Error(`npm run ${script} does not serve:\n${await log()}`);
    return log();
  }

  before(async () => {
    env = await bareEnvironment(directory);
    packed = await pack({ out });
    await runs("tar", ["-xzf", packed.folder, "-C", directory]);
    folder = join(directory, basename(packed.folder, ".tar.gz"));
    await inFolder("npm", "ci");
  });

  test("is installed without Rust, Go and the terrace command, from a lock file with all digests", async () => {
    for (const name of ABSENT) await assert.rejects(access(join(env.PATH, name)), { code: "ENOENT" });
    const { packages } = JSON.parse(await readFile(join(folder, "package-lock.json"), "utf8"));
    const { "": self, ...others } = packages;
    assert.deepEqual(Object.entries(others).filter(([, { integrity }]) => !integrity), []);
    await inFolder("npm", "ls", "--all");
  });

  test("has the same bytes when it is packed again", async () => {
    const again = join(directory, "again");
    await pack({ out: again });
    const sums = (where) => readFile(join(where, "SHA256SUMS"), "utf8");
    assert.equal(await sums(again), await sums(out));
  });

  test("passes the check and a dry run of wrangler's deployment", async () => {
    const { output } = await inFolder("npm", "run", "deploy", "--", "--dry-run");
    assert.match(output, /wrangler\.jsonc has everything that Terrace \S+ needs.*env\.INDICES .*env\.FACTS .*--dry-run: exiting now/s);
  });

  test("runs with its own configuration under wrangler dev", async (t) => {
    await writeFile(join(folder, ".dev.vars"), `TERRACE_ADMIN_TOKEN="${TOKEN}"\n`);
    const port = await freePort();
    await serves(t, "dev", ["--", "--port", String(port), "--ip", "127.0.0.1", "--inspector-port", String(await freePort())], "Ready on");
    const get = (path, headers) => fetch(`http://127.0.0.1:${port}${path}`, { headers });
    assert.deepEqual(await (await get("/.well-known/terraform.json")).json(), { "providers.v1": "/v1/providers/", "modules.v1": "/v1/modules/" });
    assert.equal((await get("/admin/v1/tokens", { authorization: `Bearer ${TOKEN}` })).status, 200);
  });

  test("starts with an example provider and module, which terraform installs and runs", { skip: unlessOnPath("terraform") }, async (t) => {
    const port = await freePort();
    const log = await serves(t, "start", [], "To look around", { PORT: String(port) });
    const lines = log.slice(log.indexOf("in another terminal")).split("\n").filter((line) => line.startsWith("    ")).map((line) => line.trim());
    assert.deepEqual(lines, [". .terrace/env", "cd .terrace/example", "terraform init", "terraform apply"]);
    const script = lines.join(" && ").replace("apply", "apply -auto-approve -no-color");
    const page = async (path) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    assert.match(await page("/modules/acme/greeting/hello/0.1.0"), /The word to greet with/);
    assert.match(await page("/providers/acme/hello/0.1.0/docs/data-sources/greeting"), /The platform it was packaged for/);
    const { output } = await inFolder("sh", "-c", script);
    assert.match(output, /from_module = "Welcome, Ada\."\nfrom_provider = "Hello, Ada!"\nfrom_submodule = "HELLO, ADA!"/);
  });

  test("is started by npx, and says what is missing without wrangler", async () => {
    const alone = join(directory, "alone");
    await mkdir(alone);
    const without = await run(process.execPath, [join(out, "packages", "worker", "start", "bin.mjs")], { cwd: alone, env });
    assert.equal(without.code, 1, without.output);
    assert.match(without.output, /run `npx terrace-try`/);
    const packages = [packed.registry, packed.attempt].map((tarball) => `--package=${tarball}`);
    const { output } = await runs(join(env.PATH, "npx"), ["--yes", ...packages, "terrace-try", "--help"], { cwd: alone, env });
    assert.match(output, /with an example provider and module/);
  });
});
