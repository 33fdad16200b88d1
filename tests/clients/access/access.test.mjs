// A private registry with the real clients: their requests, and the messages that users read if access is
// refused.
import assert from "node:assert/strict";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { HOST, hostBlock, networkMirror, usingModule, usingProvider, withEachClient } from "../support/client.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { mirrored, module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, describe, test } from "../support/testing.mjs";
import { createToken, tokenText } from "../support/tokens.mjs";

const PRIVATE = { TERRACE_ACCESS: "private" };
const WITH_A_PUBLIC_NAMESPACE = { ...PRIVATE, TERRACE_ACCESS_EXCEPT: "open" };
const IN_AN_HOUR = Math.floor(Date.now() / 1000) + 3600;

/** Publishes the test packages. */
async function fill(registry, keyDirectory) {
  const key = await newKey(keyDirectory);
  for (const namespace of ["acme", "open"]) {
    await registry.trusts(namespace, key);
    await registry.publishes(provider({ address: `${namespace}/hello`, version: "1.0.0", key }));
  }
  await registry.publishes(module({ address: "acme/vpc/aws", version: "1.0.0", files: saying("acme/vpc/aws 1.0.0") }));
}

const main = { "provider.tf": usingProvider(`${HOST}/acme/hello`, "1.0.0"), "module.tf": usingModule(`${HOST}/acme/vpc/aws`, "1.0.0") };
const byEnvironment = (token) => ({ env: { TF_TOKEN_terrace_test: token } });

inBothModes((mode) => {
  const registry = useRegistry({ mode, vars: WITH_A_PUBLIC_NAMESPACE });
  const keyDirectory = scratch();
  let reader;
  before(async () => {
    await fill(registry, keyDirectory);
    reader = (await createToken(registry, "read:acme")).token;
  });

  withEachClient((client) => {
    /** Runs init with these files, and returns the failure that the user reads. */
    async function refusedFor(t, files, token) {
      const work = await client.workspace(t, registry, files, token === undefined ? {} : byEnvironment(token));
      return work.fails("init");
    }

    test("a token in the environment installs a private provider and a private module (8.1)", async (t) => {
      const work = await client.workspace(t, registry, main, byEnvironment(reader));
      await work.runs("init");
      const alone = await client.workspace(t, registry, { "main.tf": main["module.tf"] }, byEnvironment(reader));
      await alone.runs("init");
      assert.equal((await alone.outputs()).says, "acme/vpc/aws 1.0.0");
    });

    test("a token in a credentials block or from a credentials helper does so, too", async (t) => {
      const config = hostBlock(registry);
      const block = `${config}credentials "${HOST}" {\n token = "${reader}"\n}\n`;
      await (await client.workspace(t, registry, main, { config: block })).runs("init");
      const helped = `${config}credentials_helper "test" {\n args = []\n}\n`;
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

    test("a public namespace of a private registry needs no token", async (t) => {
      const files = { "main.tf": usingProvider(`${HOST}/open/hello`, "1.0.0") };
      await (await client.workspace(t, registry, files)).runs("init");
    });

    for (const [what, token] of [
      ["a wrong", () => "hunter2hunter2"],
      ["a mistyped", () => reader.replace("terrace_", "terrace_0")],
      ["an expired", () => tokenText(registry.secrets.adminToken, { scopes: ["read"], expires: 1_700_000_000 })],
      ["another registry's", () => tokenText("another admin token", { scopes: ["read"], expires: IN_AN_HOUR })],
    ]) {
      test(`${what} token is refused, and the client reports it (2.1.5, 3.3)`, async (t) => {
        const said = await refusedFor(t, { "main.tf": main["provider.tf"] }, token());
        assert.match(said, /rejected the given authentication credentials|401/);
        assert.match(await refusedFor(t, { "main.tf": main["module.tf"] }, token()), /401/);
      });
    }

    test("with a token for another namespace the provider and the module are not found", async (t) => {
      const { token } = await createToken(registry, "read:globex", "publish:initech");
      assert.match(await refusedFor(t, { "main.tf": main["provider.tf"] }, token), /does not have a provider named|not.* found/i);
      assert.match(await refusedFor(t, { "main.tf": main["module.tf"] }, token), /cannot be found|not found/i);
    });
  });
});

describe("a revoked token", () => {
  // Each thread notices by itself.
  const registry = useRegistry({ vars: PRIVATE, args: ["--threads", "1"] });
  const keyDirectory = scratch();
  let token;
  before(() => fill(registry, keyDirectory));

  test("is refused within a minute, even if it was just accepted", async () => {
    let id;
    ({ id, token } = await createToken(registry, "read"));
    const headers = { authorization: `Bearer ${token}` };
    const ask = async () => (await registry.request("/v1/providers/acme/hello/versions", { headers })).status;
    assert.equal(await ask(), 200);
    const revoked = Date.now();
    const init = { method: "DELETE", headers: { authorization: `Bearer ${registry.secrets.adminToken}` } };
    assert.equal((await registry.request(`/admin/v1/tokens/${id}`, init)).status, 200);
    while ((await ask()) === 200) {
      assert.ok(Date.now() - revoked < 60_000, "the token is still accepted after a minute");
      await sleep(500);
    }
    assert.equal(await ask(), 401);
  });

  withEachClient((client) => {
    test("is refused, and the client reports it (2.1.5, 3.3)", async (t) => {
      const work = await client.workspace(t, registry, { "main.tf": main["provider.tf"] }, byEnvironment(token));
      assert.match(await work.fails("init"), /rejected the given authentication credentials|401/);
      const module = await client.workspace(t, registry, { "main.tf": main["module.tf"] }, byEnvironment(token));
      assert.match(await module.fails("init"), /401/);
    });
  });
});

inBothModes((mode) => {
  describe("a publisher with limited read access", () => {
    const registry = useRegistry({ mode, vars: PRIVATE });
    const secret = module({ address: "acme/vpc/aws", version: "1.0.0", files: saying("a secret") });
    const copy = { ...secret, path: secret.path.replace("acme", "globex") };
    const download = "/v1/modules/globex/vpc/aws/1.0.0/download";
    let token;
    before(async () => {
      await registry.publishes(secret);
      ({ token } = await createToken(registry, "publish:globex"));
    });
    const asked = () => registry.request(download, { headers: { authorization: `Bearer ${token}` } });

    test("cannot obtain an archive by its digest", async () => {
      for (const _ of ["first", "again"]) {
        const { status } = await registry.admin("PUT", copy.path, JSON.stringify(copy.body), token);
        assert.equal(status, 202);
      }
      assert.equal((await asked()).status, 404);
    });
  });
});

describe("the network mirror of a private registry", () => {
  const registry = useRegistry({ vars: PRIVATE, https: true });
  const keyDirectory = scratch();
  before(async () => {
    const key = await newKey(keyDirectory);
    const release = provider({ address: "acme/hello", version: "1.0.0", key });
    await registry.publishes(mirrored("registry.example.com", key, release));
  });

  withEachClient((client) => {
    test("serves clients with a token for its host, and reports to others that they need one (5.5, 8.3)", async (t) => {
      const { token } = await createToken(registry, "read:registry.example.com");
      const mirror = networkMirror(registry);
      const files = { "main.tf": usingProvider("registry.example.com/acme/hello", "1.0.0") };
      const env = { SSL_CERT_FILE: registry.env.SSL_CERT_FILE };
      const config = `${mirror}credentials "${new URL(registry.url).host}" {\n token = "${token}"\n}\n`;
      await (await client.workspace(t, registry, files, { config, env })).runs("init");
      const said = await (await client.workspace(t, registry, files, { config: mirror, env })).fails("init");
      assert.match(said, /authentication credentials/);
    });
  });
});
