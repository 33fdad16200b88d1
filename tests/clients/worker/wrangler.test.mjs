// `terrace doctor --pre` reads the outputs of the real wrangler, which asks a server in place of Cloudflare's API.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";

import { cli } from "../../../scripts/build.mjs";
import { nodeForWrangler } from "../../../scripts/lib/npm.mjs";
import { root } from "../../../scripts/lib/paths.mjs";
import { run } from "../support/programs.mjs";
import { scratch } from "../support/scratch.mjs";
import { cleanupOf, describe, test } from "../support/testing.mjs";

const ACCOUNT = { id: "0123456789abcdef0123456789abcdef", name: "Acme" };
const OTHER = { id: "f".repeat(32), name: "Other" };

/** Answers of Cloudflare's API (https://developers.cloudflare.com/api/), by the ends of paths. */
const SOUND = {
  "/user/tokens/verify": found({ id: "t", status: "active" }),
  "/user": found({ id: "u", email: "dev@acme.example" }),
  "/accounts": page([ACCOUNT]),
  "/memberships": page([{ id: "m", account: ACCOUNT, roles: ["Administrator"] }]),
  "/r2/buckets": found({ buckets: [{ name: "other", creation_date: "2026-01-02T03:04:05.678Z" }] }),
  "/storage/kv/namespaces": page([{ id: "a".repeat(32), title: "other", supports_url_encoding: true }]),
  "/workers/scripts/terrace/deployments": refused(404, 10007, "This Worker does not exist on your account."),
  "/zones?name=acme.example": page([{ id: "b".repeat(32), name: "acme.example" }]),
  "/zones": page([]),
  "/email/routing": refused(403, 10000, "Authentication error"),
};

const DEPLOYED = {
  "/workers/scripts/terrace/deployments": found({
    deployments: [{ id: "d", source: "wrangler", strategy: "percentage", author_email: "dev@acme.example", created_on: "2026-01-02T03:04:05.678901Z", annotations: {}, versions: [{ version_id: "v1", percentage: 100 }] }],
  }),
  "/r2/buckets": found({ buckets: [{ name: "terrace-facts", creation_date: "2026-01-02T03:04:05.678Z" }] }),
  "/storage/kv/namespaces": page([{ id: "a".repeat(32), title: "terrace-indices" }]),
};

function found(result) {
  return { status: 200, body: { success: true, errors: [], messages: [], result } };
}

function page(list) {
  const result_info = { page: 1, per_page: 20, count: list.length, total_count: list.length, total_pages: 1 };
  return { status: 200, body: { ...found(list).body, result_info } };
}

function refused(status, code, message) {
  return { status, body: { success: false, errors: [{ code, message }], messages: [], result: null } };
}

/** The Worker of the deployment has these bindings. */
const bound = (...bindings) => ({ "/workers/scripts/terrace/versions/v1": found({ id: "v1", metadata: {}, resources: { bindings, script: {}, script_runtime: {} } }) });

const CONFIGURATION = `
name = "terrace"
main = "index.js"
compatibility_date = "2026-10-20"
routes = [{ pattern = "registry.acme.example", custom_domain = true }]
workers_dev = false
r2_buckets = [{ binding = "FACTS" }]
kv_namespaces = [{ binding = "INDICES" }]
ratelimits = [
  { name = "FAILURES", namespace_id = "1001", simple = { limit = 100, period = 60 } },
  { name = "SEARCHES", namespace_id = "1002", simple = { limit = 100, period = 60 } },
]
triggers = { crons = ["* * * * *"] }
`;

describe("terrace doctor --pre", () => {
  const directory = scratch();

  /** Returns the URL of a server that answers as Cloudflare's API, and refuses every change. */
  async function api(t, answers) {
    const all = Object.entries({ ...SOUND, ...answers }).sort(([one], [other]) => other.length - one.length);
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url, "http://api");
      const path = `${pathname}?name=${searchParams.get("name")}`;
      const isLast = Number(searchParams.get("page") ?? 1) > 1;
      const [, answer] = all.find(([end]) => pathname.endsWith(end) || path.endsWith(end)) ?? [null, refused(404, 7003, `no route ${pathname}`)];
      const { status, body } = request.method === "GET" ? answer : refused(405, 1, "the test allows no changes");
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(isLast && Array.isArray(body.result) ? { ...body, result: [] } : body));
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    cleanupOf(t).add("stopping the API", () => new Promise((done) => { server.close(done); server.closeAllConnections(); }));
    return `http://127.0.0.1:${server.address().port}`;
  }

  /** Runs the command in a folder of its own, and returns its exit code and its checks by ID. */
  async function examined(name, env) {
    const folder = join(directory, name);
    await mkdir(folder);
    await writeFile(join(folder, "wrangler.toml"), CONFIGURATION);
    // As in a checkout, where the packages are installed above.
    const bin = join(folder, "bin");
    await mkdir(bin);
    const program = join(root, "node_modules", "wrangler", "bin", "wrangler.js");
    await writeFile(join(bin, "wrangler"), `#!/bin/sh\nexec "${nodeForWrangler()}" "${program}" "$@"\n`, { mode: 0o755 });
    const path = [bin, dirname(nodeForWrangler()), process.env.PATH].join(delimiter);
    const clean = { CLOUDFLARE_API_TOKEN: undefined, CLOUDFLARE_ACCOUNT_ID: undefined, CLOUDFLARE_ENV: undefined, XDG_CONFIG_HOME: undefined };
    const { code, output, stdout } = await run(cli, ["doctor", "--pre", "--json"], { cwd: folder, env: { ...process.env, ...clean, HOME: folder, PATH: path, ...env } });
    const { categories } = JSON.parse(stdout.toString());
    const checks = Object.fromEntries(categories.flatMap(({ checks: all }) => all).map((check) => [check.id, check]));
    return { code, output, checks };
  }

  const statuses = (checks) => Object.values(checks).map(({ id, status }) => `${id} ${status}`).filter((it) => !it.endsWith("pass"));

  /** Runs the command with answers of the API; exactly one check reports a problem. */
  async function finds(t, name, answers, id, text) {
    const env = { CLOUDFLARE_API_BASE_URL: await api(t, answers), CLOUDFLARE_API_TOKEN: "a".repeat(40) };
    const { code, output, checks } = await examined(name, env);
    assert.deepEqual(statuses(checks).filter((it) => !it.endsWith("skip")), id ? [id] : [], output);
    if (id) assert.match(JSON.stringify(checks[id.split(" ")[0]]), text, output);
    assert.equal(code, id?.endsWith("fail") ? 3 : 0, output);
    return checks;
  }

  test("reports that wrangler is not signed in", async () => {
    const { code, checks, output } = await examined("unsigned", {});
    assert.deepEqual(statuses(checks), ["B3 fail", "B4 skip", "B5 skip", "B6 skip", "B7 skip", "B8 skip", "B9 skip"], output);
    assert.match(checks.B2.observed, /^4\./);
    assert.equal(code, 3);
  });

  test("passes an account where nothing is in the way", async (t) => {
    const checks = await finds(t, "sound", {});
    assert.deepEqual(statuses(checks), [], JSON.stringify(checks));
    assert.equal(checks.B9.observed, "acme.example");
  });

  test("finds rejected credentials", async (t) => {
    const rejected = Object.fromEntries(Object.keys(SOUND).map((path) => [path, refused(403, 9109, "Invalid access token")]));
    await finds(t, "rejected", rejected, "B3 fail", /9109/);
  });

  test("finds that one of several accounts has to be chosen", async (t) => {
    const several = { "/accounts": page([ACCOUNT, OTHER]), "/memberships": page([ACCOUNT, OTHER].map((account) => ({ id: "m", account, roles: [] }))) };
    const checks = await finds(t, "several", several, "B4 warn", /Acme .*Other/);
    assert.equal(checks.B5.status, "skip", JSON.stringify(checks));
  });

  test("finds that R2 is not enabled", async (t) => {
    await finds(t, "no-r2", { "/r2/buckets": refused(403, 10042, "Please enable R2 through the Cloudflare Dashboard.") }, "B5 fail", /10042/);
  });

  test("finds another Worker of the name, and accepts the registry itself", async (t) => {
    const others = { "/r2/buckets": SOUND["/r2/buckets"], "/storage/kv/namespaces": SOUND["/storage/kv/namespaces"] };
    await finds(t, "other", { ...DEPLOYED, ...others, ...bound({ name: "CACHE", type: "kv_namespace", namespace_id: "c" }) }, "B6 fail", /dev@acme\.example/);
    const own = bound({ name: "FACTS", type: "r2_bucket", bucket_name: "terrace-facts" }, { name: "INDICES", type: "kv_namespace", namespace_id: "a".repeat(32) });
    await finds(t, "own", { ...DEPLOYED, ...own });
  });

  test("finds a bucket and a namespace of the name", async (t) => {
    await finds(t, "bucket", { "/r2/buckets": DEPLOYED["/r2/buckets"] }, "B7 fail", /terrace-facts/);
    await finds(t, "namespace", { "/storage/kv/namespaces": DEPLOYED["/storage/kv/namespaces"] }, "B8 fail", /terrace-indices/);
  });

  test("finds that the hostname is in no zone of the account", async (t) => {
    await finds(t, "zone", { "/zones?name=acme.example": page([]) }, "B9 fail", /registry\.acme\.example/);
  });
});
