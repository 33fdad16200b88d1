// The Worker's behaviour with settings that only its start can show.
import assert from "node:assert/strict";

import { newSecrets, startServer } from "../../../scripts/server.mjs";
import { cleanupOf, test } from "../support/testing.mjs";

test("a misspelt setting stops the registry, and its log names the nearest one", async (t) => {
  const start = startServer(cleanupOf(t), { presign: false, vars: { TERRACE_ACESS: "private" } });
  await assert.rejects(start, {
    message: /answers 500 to discovery: .*the configuration variable TERRACE_ACESS is invalid/,
    output: "configuration: TERRACE_ACESS is not a setting of Terrace; did you mean TERRACE_ACCESS?",
  });
});

test("an admin token with characters that wrangler would interpret opens a private registry", async (t) => {
  const adminToken = `$HOME \${PATH}'s "token" #1`;
  const secrets = { ...newSecrets(), adminToken };
  const { url } = await startServer(cleanupOf(t), { presign: false, secrets, vars: { TERRACE_ACCESS: "private" } });
  const status = async (headers) => (await fetch(`${url}/v1/modules/acme/vpc/aws/versions`, { headers })).status;
  assert.equal(await status({}), 401);
  assert.equal(await status({ authorization: `Bearer ${adminToken}` }), 404);
});
