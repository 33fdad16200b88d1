// The settings of the registry that `npm start` runs.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { temporaryDirectory } from "../../scripts/lib/cleanup.mjs";
import { readSettings } from "../../scripts/lib/settings.mjs";
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
TERRACE_S3_BUCKET = "terrace-facts"
# TERRACE_LOG_REQUESTS = "none"
TERRACE_TRUSTED_PUBLISHERS = [
  { scopes = ["publish:acme"], issuer = "https://ci.test", claims = { sub = "a" } },
]
`,
    ".dev.vars": "TERRACE_URL_LIFETIME=2\nTERRACE_ACCESS=public\nTERRACE_LOGIN_CLIENT_SECRET='hush'\n",
  });
  const { values, lines } = await readSettings({ directory, env: { TERRACE_ACCESS: "private", PATH: "/bin" } });
  assert.deepEqual(structuredClone(values), {
    TERRACE_ACCESS: "private",
    TERRACE_URL_LIFETIME: "2",
    TERRACE_HOSTNAMES: "a.test",
    TERRACE_TRUSTED_PUBLISHERS: [{ scopes: ["publish:acme"], issuer: "https://ci.test", claims: { sub: "a" } }],
    TERRACE_LOGIN_CLIENT_SECRET: "hush",
  });
  // Only names are shown.
  assert.deepEqual(lines, [
    "settings from wrangler.toml: TERRACE_ACCESS, TERRACE_URL_LIFETIME, TERRACE_HOSTNAMES, TERRACE_TRUSTED_PUBLISHERS",
    "ignored from wrangler.toml, because this registry has its own storage: TERRACE_S3_BUCKET",
    "settings from .dev.vars: TERRACE_ACCESS, TERRACE_LOGIN_CLIENT_SECRET, TERRACE_URL_LIFETIME",
    "settings from the environment: TERRACE_ACCESS",
  ]);
});

test("--var overrides the environment, and --settings overrides wrangler.toml", async (t) => {
  const directory = await checkout(t, {
    "wrangler.toml": '[vars]\nTERRACE_ACCESS = "public"\nTERRACE_HOSTNAMES = "a.test"\n',
    "more.toml": '[vars]\nTERRACE_ACCESS = "private"\n',
  });
  const files = [join(directory, "more.toml")];
  const vars = ["TERRACE_HOSTNAMES=b.test=1"];
  const { values } = await readSettings({ directory, env: { TERRACE_HOSTNAMES: "c.test" }, files, vars });
  assert.deepEqual(values, { TERRACE_ACCESS: "private", TERRACE_HOSTNAMES: "b.test=1" });
  await assert.rejects(readSettings({ directory, env: {}, files: [join(directory, "none.toml")] }), /none\.toml/);
  await assert.rejects(readSettings({ directory, env: {}, vars: ["TERRACE_ACCESS"] }), /write NAME=VALUE/);
});
