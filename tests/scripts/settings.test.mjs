// The settings of the registry that `npm start` runs.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { temporaryDirectory } from "../../scripts/lib/cleanup.mjs";
import { describeSettings, readSettings } from "../../scripts/lib/settings.mjs";
import { cleanupOf, test } from "../clients/support/testing.mjs";

/** Returns a checkout with these files. */
async function checkout(t, files) {
  const directory = temporaryDirectory(cleanupOf(t));
  for (const [name, text] of Object.entries({ "wrangler.toml": "", ...files })) await writeFile(join(directory, name), text);
  return directory;
}

test("settings come from wrangler.toml, .dev.vars and the environment, of which the last wins", async (t) => {
  const directory = await checkout(t, {
    "wrangler.toml": `[vars]
TERRACE_ACCESS = "public"
TERRACE_URL_LIFETIME = "1"
TERRACE_HOSTNAMES = "a.test" # a comment
# TERRACE_LOG_REQUESTS = "none"
TERRACE_TRUSTED_PUBLISHERS = [
  { scopes = ["publish:acme"], issuer = "https://ci.test", claims = { sub = "a" } },
]
`,
    ".dev.vars": "TERRACE_URL_LIFETIME=2\nTERRACE_ACCESS=public\nTERRACE_LOGIN_CLIENT_SECRET='hush'\n",
  });
  const { values, sources } = await readSettings({ directory, env: { TERRACE_ACCESS: "private", PATH: "/bin" } });
  assert.deepEqual(structuredClone(values), {
    TERRACE_ACCESS: "private",
    TERRACE_URL_LIFETIME: "2",
    TERRACE_HOSTNAMES: "a.test",
    TERRACE_TRUSTED_PUBLISHERS: [{ scopes: ["publish:acme"], issuer: "https://ci.test", claims: { sub: "a" } }],
    TERRACE_LOGIN_CLIENT_SECRET: "hush",
  });
  assert.equal(sources.TERRACE_ACCESS, "the environment");
  assert.equal(sources.TERRACE_URL_LIFETIME, ".dev.vars");
  assert.equal(sources.TERRACE_HOSTNAMES, "wrangler.toml");
});

test("the settings of the deployed bucket are ignored, and named", async (t) => {
  const directory = await checkout(t, { "wrangler.toml": '[vars]\nTERRACE_S3_BUCKET = "terrace-facts"\n' });
  const settings = await readSettings({ directory, env: {} });
  assert.deepEqual(settings.values, {});
  assert.deepEqual(describeSettings(settings), ["ignored, because this registry has its own storage: TERRACE_S3_BUCKET"]);
});

test("the report names settings and their places, but no values", async (t) => {
  const directory = await checkout(t, { ".dev.vars": "TERRACE_LOGIN_CLIENT_SECRET=hush\n" });
  const settings = await readSettings({ directory, env: { TERRACE_ADMIN_TOKEN: "hush", TERRACE_ACCESS: "private" } });
  assert.deepEqual(describeSettings(settings), [
    "settings from .dev.vars: TERRACE_LOGIN_CLIENT_SECRET",
    "settings from the environment: TERRACE_ADMIN_TOKEN, TERRACE_ACCESS",
  ]);
});

test("--var overrides the environment, and --settings overrides wrangler.toml", async (t) => {
  const directory = await checkout(t, {
    "wrangler.toml": '[vars]\nTERRACE_ACCESS = "public"\nTERRACE_HOSTNAMES = "a.test"\n',
    "more.toml": '[vars]\nTERRACE_ACCESS = "private"\n',
  });
  const files = [join(directory, "more.toml")];
  const vars = ["TERRACE_HOSTNAMES=b.test=1"];
  const { values, sources } = await readSettings({ directory, env: { TERRACE_HOSTNAMES: "c.test" }, files, vars });
  assert.deepEqual(values, { TERRACE_ACCESS: "private", TERRACE_HOSTNAMES: "b.test=1" });
  assert.deepEqual(sources, { TERRACE_ACCESS: files[0], TERRACE_HOSTNAMES: "--var" });
  await assert.rejects(readSettings({ directory, env: {}, files: [join(directory, "none.toml")] }), /--settings .*none\.toml/);
  await assert.rejects(readSettings({ directory, env: {}, vars: ["TERRACE_ACCESS"] }), /write NAME=VALUE/);
});
