// A private registry with the real clients: their requests, and the messages that users read if access is
// refused.
import assert from "node:assert/strict";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { HOST, hostBlock, networkMirror, usingModule, usingProvider, withEachClient } from "../support/client.mjs";
import { useRegistry } from "../support/registry.mjs";
import { mirrored, module, provider, saying } from "../support/releases.mjs";
import { newKey } from "../support/signing.mjs";
import { before, describe, test } from "../support/testing.mjs";
import { createToken } from "../support/tokens.mjs";

const PRIVATE = { TERRACE_ACCESS: "private" };

/** Publishes the test packages. */
async function fill(registry) {
  const key = await newKey();
  await registry.trusts("acme", key);
  await registry.publishes(provider({ address: "acme/hello", version: "1.0.0", key }), module({ address: "acme/vpc/aws", version: "1.0.0", files: saying("acme/vpc/aws 1.0.0") }));
}

const main = { "provider.tf": usingProvider(`${HOST}/acme/hello`, "1.0.0"), "module.tf": usingModule(`${HOST}/acme/vpc/aws`, "1.0.0") };
const byEnvironment = (token) => ({ env: { TF_TOKEN_terrace_test: token } });

describe("a private registry", () => {
  const registry = useRegistry({ vars: PRIVATE });
  let reader;
  before(async () => {
    await fill(registry);
    reader = (await createToken(registry, "read:acme")).token;
  });

  withEachClient((client) => {
    /** Runs init with these files, and returns the failure that the user reads. */
    async function refusedFor(t, files, token) {
      const work = await client.workspace(t, registry, files, token === undefined ? {} : byEnvironment(token));
      return work.fails("init");
    }

    test("a token of the environment or from a credentials helper installs a private provider and a private module (8.1)", async (t) => {
      await (await client.workspace(t, registry, main, byEnvironment(reader))).runs("init");
      const helped = `${hostBlock(registry)}credentials_helper "test" {\n args = []\n}\n`;
      const work = await client.workspace(t, registry, main, { config: helped });
      const helper = join(work.env.HOME, ".terraform.d", "plugins", "terraform-credentials-test");
      await mkdir(dirname(helper), { recursive: true });
      await writeFile(helper, `#!/bin/sh\n[ "$1 $2" = "get ${HOST}" ] && echo '{"token":"${reader}"}'\n`);
      await chmod(helper, 0o755);
      await work.runs("init");
    });

    test("without a token the client reports that one is needed (2.1.5)", async (t) => {
      const said = await refusedFor(t, { "main.tf": main["provider.tf"] });
      assert.match(said, /requires authentication credentials|401/);
      assert.match(await refusedFor(t, { "main.tf": main["module.tf"] }), /401/);
    });

    test("a wrong token is refused, and the client reports it (2.1.5, 3.3)", async (t) => {
      assert.match(await refusedFor(t, { "main.tf": main["provider.tf"] }, "hunter2hunter2"), /rejected the given authentication credentials|401/);
      assert.match(await refusedFor(t, { "main.tf": main["module.tf"] }, "hunter2hunter2"), /401/);
    });

    test("with a token for another namespace the provider and the module are not found", async (t) => {
      const { token } = await createToken(registry, "read:globex", "publish:initech");
      assert.match(await refusedFor(t, { "main.tf": main["provider.tf"] }, token), /does not have a provider named|not.* found/i);
      assert.match(await refusedFor(t, { "main.tf": main["module.tf"] }, token), /cannot be found|not found/i);
    });
  });
});

describe("the network mirror of a private registry", () => {
  const registry = useRegistry({ vars: PRIVATE, https: true });
  before(async () => {
    const key = await newKey();
    const release = provider({ address: "acme/hello", version: "1.0.0", key });
    await registry.publishes(mirrored("registry.example.com", key, release));
  });

  withEachClient((client) => {
    test("serves clients with a token for its host, and reports to others that they need one (5.5, 8.3)", async (t) => {
      const { token } = await createToken(registry, "read:registry.example.com");
      const mirror = networkMirror(registry);
      const files = { "main.tf": usingProvider("registry.example.com/acme/hello", "1.0.0") };
      const config = `${mirror}credentials "${registry.host}" {\n token = "${token}"\n}\n`;
      await (await client.workspace(t, registry, files, { config })).runs("init");
      const said = await (await client.workspace(t, registry, files, { config: mirror })).fails("init");
      assert.match(said, /authentication credentials/);
    });
  });
});
