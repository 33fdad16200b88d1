// Work of `npm test` that runs beside its stages, and the order of its test files.
import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";

import { aptInstall } from "../../scripts/lib/apt.mjs";
import { isWindows, root } from "../../scripts/lib/paths.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { LONGEST, longestFirst, testFiles } from "../../scripts/lib/test-files.mjs";
import { scratch } from "../clients/support/scratch.mjs";
import { test } from "../clients/support/testing.mjs";

test("packages of concurrent steps are installed one after the other", async (t) => {
  if (isWindows) return t.skip("there is no apt");
  const directory = scratch(t);
  const log = join(directory, "log");
  const lock = join(directory, "lock");
  const apt = join(directory, "apt-get");
  await writeFile(apt, `#!/bin/sh\nmkdir '${lock}' || exit 100\nsleep 0.1\nrmdir '${lock}'\neval "echo \\$$#" >> '${log}'\n`);
  await chmod(apt, 0o755);
  const { PATH } = process.env;
  process.env.PATH = [directory, PATH].join(delimiter);
  try {
    await Promise.all(["one", "two", "three"].map((name) => aptInstall([name])));
  } finally {
    process.env.PATH = PATH;
  }
  assert.deepEqual((await readFile(log, "utf8")).trim().split("\n"), ["one", "two", "three"]);
});

test("cleaning up after tools keeps the programs that this process is building", async (t) => {
  const cache = scratch(t);
  const script = `
    const { mkdirSync } = await import("node:fs");
    const { cleanUpAfterTools } = await import(process.argv[1]);
    for (const name of ["tofu-1.partial-", "target-"]) mkdirSync(process.argv[2] + "/terrace/" + name + process.pid, { recursive: true });
    await cleanUpAfterTools();`;
  const tools = pathToFileURL(join(root, "scripts", "lib", "tools.mjs")).href;
  await mkdir(join(cache, "terrace"));
  await run(process.execPath, ["--input-type=module", "-e", script, tools, cache], { env: { ...process.env, XDG_CACHE_HOME: cache } });
  const [left, ...others] = await readdir(join(cache, "terrace"));
  assert.match(left, /^tofu-1\.partial-\d+$/);
  assert.deepEqual(others, []);
});

test("every file of tests with clients runs once, and those that take longest begin first", async () => {
  const files = await testFiles("clients");
  const ordered = longestFirst(files);
  assert.deepEqual(ordered.slice(0, LONGEST.length), LONGEST, "each of them is there");
  assert.deepEqual(ordered.toSorted(), files.toSorted());
});
