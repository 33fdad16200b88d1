// Over TLS, clients find the registry only by discovery: there is no `host` block, only the registry's own
// hostname and its CA.
import assert from "node:assert/strict";

import { onlyLinux, usingModule, usingProvider, withEachClient } from "../support/client.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { ELSEWHERE, HERE, module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, test } from "../support/testing.mjs";

inBothModes((mode) => {
  const registry = useRegistry({ mode, https: true });
  const keyDirectory = scratch();
  let host;

  before(async () => {
    host = new URL(registry.url).host;
    const key = await newKey(keyDirectory);
    await registry.trusts("acme", key);
    await registry.publishes(
      provider({ address: "acme/hello", version: "1.0.0", key }),
      module({ address: "acme/greeting/aws", version: "1.0.0", files: saying("hello") }),
    );
  });

  withEachClient((client) => {
    const work = (t, env) => {
      const files = {
        "provider.tf": usingProvider(`${host}/acme/hello`, "1.0.0"),
        "module.tf": usingModule(`${host}/acme/greeting/aws`, "1.0.0"),
      };
      return client.workspace(t, registry, files, { config: "", env });
    };

    test("init discovers the registry and installs a provider and a module, and again from the lock file (1)", { skip: onlyLinux }, async (t) => {
      const found = await work(t, { SSL_CERT_FILE: registry.env.SSL_CERT_FILE });
      await found.runs("init");
      await found.remove(".terraform");
      const { said } = await found.runs("init", "-lockfile=readonly");
      assert.match(said, /Installed \S+\/acme\/hello v1\.0\.0/);
      assert.match(await found.read(".terraform/modules/wanted/main.tf"), /hello/);
    });

    test("providers lock and get -update find the registry, too", { skip: onlyLinux }, async (t) => {
      const found = await work(t, { SSL_CERT_FILE: registry.env.SSL_CERT_FILE });
      await found.runs("get", "-update");
      await found.runs("providers", "lock", `-platform=${HERE}`, `-platform=${ELSEWHERE}`);
      assert.equal((await found.lockedHashes()).h1.length, 2);
    });

    test("init refuses a certificate of an unknown CA", { skip: onlyLinux }, async (t) => {
      const found = await work(t, {});
      assert.match(await found.fails("init"), /certificate signed by unknown authority/);
    });
  });
});
