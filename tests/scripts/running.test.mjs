// One registry per state directory, even if a checkout was copied while its registry ran.
import assert from "node:assert/strict";
import { cp, mkdir, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { temporaryDirectory } from "../../scripts/lib/cleanup.mjs";
import { root } from "../../scripts/lib/paths.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { recordRunning, refuseSecond } from "../../scripts/lib/running.mjs";
import { freePort, startServer } from "../../scripts/server.mjs";
import { cleanupOf, test } from "../clients/support/testing.mjs";

/** Returns a state directory with a running registry: this process answers in its place. */
async function running(t) {
  const server = createServer((_, response) => response.end());
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => (server.closeAllConnections(), server.close()));
  const parent = temporaryDirectory(cleanupOf(t));
  const directory = join(parent, "state");
  await mkdir(directory);
  const registry = { pid: process.pid, url: `http://127.0.0.1:${server.address().port}/` };
  await recordRunning(directory, registry);
  return { parent, directory, registry, server };
}

test("a second registry on a directory is refused, and the message names the record", async (t) => {
  const { directory, registry } = await running(t);
  await assert.rejects(refuseSecond(directory), ({ message }) => message.includes(join(directory, "running.json")) && message.includes(registry.url));
});

test("a registry on a copy of the directory is started", async (t) => {
  const { parent, directory } = await running(t);
  const copy = join(parent, "copy");
  await cp(directory, copy, { recursive: true });
  await refuseSecond(copy);
});

test("a second registry is refused after the directory is moved", async (t) => {
  const { parent, directory } = await running(t);
  const moved = join(parent, "moved");
  await rename(directory, moved);
  await assert.rejects(refuseSecond(moved), /already runs/);
});

test("a second registry is refused when the record is of an earlier version, without a directory", async (t) => {
  const { directory, registry } = await running(t);
  await writeFile(join(directory, "running.json"), JSON.stringify(registry));
  await assert.rejects(refuseSecond(directory), /already runs/);
});

test("a registry is started after the last one has ended", async (t) => {
  const { directory, server } = await running(t);
  await new Promise((done) => server.close(done));
  await refuseSecond(directory);
});

test("a second `npm start` ends with 1, and names the running registry", async (t) => {
  const { parent, directory, registry } = await running(t);
  await cp(join(root, "scripts"), join(parent, "scripts"), { recursive: true });
  await cp(join(root, "package.json"), join(parent, "package.json"));
  await rename(directory, join(parent, ".terrace"));
  const env = { ...process.env, PORT: String(await freePort()) };
  const { code, output } = await run(process.execPath, [join(parent, "scripts", "start.mjs")], { env, check: false, timeout: 60_000 });
  assert.equal(code, 1, output);
  assert.ok(output.includes(`already runs, at ${registry.url}`), output);
});

test("a start that is refused leaves nothing open", async (t) => {
  const { directory } = await running(t);
  const script = `
    const [{ startServer }, { Cleanup }] = await Promise.all(process.argv.slice(1, 3).map((url) => import(url)));
    await startServer(new Cleanup(), { stateDir: process.argv[3] }).catch(() => (process.exitCode = 1));`;
  const modules = ["server.mjs", "lib/cleanup.mjs"].map((name) => pathToFileURL(join(root, "scripts", name)).href);
  const args = ["--input-type=module", "-e", script, ...modules, directory];
  const { code, output } = await run(process.execPath, args, { check: false, timeout: 60_000 });
  assert.equal(code, 1, output);
});

test("a server that answers as no registry does is taken for another one, and started again once", async (t) => {
  const cleanup = cleanupOf(t);
  const directory = temporaryDirectory(cleanup);
  const main = join(directory, "index.js");
  await writeFile(main, "export default { fetch: () => new Response(null, { status: 404 }) };");
  const said = [];
  const start = startServer(cleanup, { stateDir: join(directory, "state"), worker: { main, compatibilityDate: "2026-01-01" }, say: (line) => said.push(line) });
  await assert.rejects(start, /answers 404/);
  assert.equal(said.filter((line) => line.includes("another server answers")).length, 1, said.join("\n"));
});
