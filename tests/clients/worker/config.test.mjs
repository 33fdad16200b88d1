// The Worker's behaviour with an invalid configuration.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import { newSecrets, startServer } from "../../../scripts/server.mjs";
import { cleanupOf, describe, test } from "../support/testing.mjs";
import { WatchedRegistry } from "../support/watched.mjs";

const MISSPELT = { TERRACE_ACESS: "private" };
const TOLD = "the configuration variable TERRACE_ACESS is invalid: see the Worker's log for the reason";

describe("a misspelt setting", () => {
  test("stops the registry from answering any request", async (t) => {
    const registry = new WatchedRegistry({ mode: "worker", vars: MISSPELT });
    await assert.rejects(registry.start(cleanupOf(t)), /terraform\.json answers 500/);
    for (const [method, path] of [
      ["GET", "/healthz"],
      ["GET", "/v1/modules/acme/vpc/aws/versions"],
      ["PUT", "/admin/v1/modules/acme/vpc/aws/1.0.0"],
    ]) {
      const response = await registry.request(path, { method });
      assert.equal(response.status, 500, path);
      assert.ok((await response.text()).includes(TOLD), path);
    }
  });

  test("fails a start with the nearest setting", async (t) => {
    const start = startServer(cleanupOf(t), { presign: false, vars: MISSPELT });
    await assert.rejects(start, { output: "configuration: TERRACE_ACESS is not a setting of Terrace; did you mean TERRACE_ACCESS?" });
  });
});

test("a rule that jobs of pull requests from forks match is logged with a warning", async (t) => {
  const claims = { repository: "acme/widget", ref: "refs/heads/main" };
  const rule = { scopes: ["publish:acme"], issuer: "https://token.actions.githubusercontent.com", claims };
  const server = await startServer(cleanupOf(t), { presign: false, vars: { TERRACE_TRUSTED_PUBLISHERS: [rule] } });
  await server.stop();
  const log = await readFile(server.logFile, "utf8");
  assert.match(log, /configuration: TERRACE_TRUSTED_PUBLISHERS rule 1 also trusts workflows on pull_request_target/);
});

test("an admin token with characters that wrangler would interpret opens a private registry", async (t) => {
  const adminToken = `$HOME \${PATH}'s "token" #1`;
  const secrets = { ...newSecrets(), adminToken };
  const { url } = await startServer(cleanupOf(t), { presign: false, secrets, vars: { TERRACE_ACCESS: "private" } });
  const status = async (headers) => (await fetch(`${url}/v1/modules/acme/vpc/aws/versions`, { headers })).status;
  assert.equal(await status({}), 401);
  assert.equal(await status({ authorization: `Bearer ${adminToken}` }), 404);
});
