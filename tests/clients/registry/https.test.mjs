// Over TLS, clients find the registry only by discovery: there is no `host` block, only the registry's own
// hostname and its CA.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import tls from "node:tls";

import { usingModule, usingProvider, withEachClient } from "../support/client.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { ELSEWHERE, HERE, module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, test } from "../support/testing.mjs";

/** Go reads SSL_CERT_FILE on Linux; on other systems it uses the system's CAs. */
const skip = process.platform === "linux" ? false : "SSL_CERT_FILE works on Linux only";

inBothModes((mode) => {
  const registry = useRegistry({ mode, https: true });
  const keyDirectory = scratch();
  let host;

  before(async () => {
    host = new URL(registry.url).host;
    tls.setDefaultCACertificates([await readFile(registry.env.SSL_CERT_FILE, "utf8")]);
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

    test("init discovers the registry and installs a provider and a module, and again from the lock file (1)", { skip }, async (t) => {
      const found = await work(t, { SSL_CERT_FILE: registry.env.SSL_CERT_FILE });
      await found.runs("init");
      await found.remove(".terraform");
      const { said } = await found.runs("init", "-lockfile=readonly");
      assert.match(said, /Installed \S+\/acme\/hello v1\.0\.0/);
      assert.match(await found.read(".terraform/modules/wanted/main.tf"), /hello/);
    });

    test("providers lock and get -update find the registry, too", { skip }, async (t) => {
      const found = await work(t, { SSL_CERT_FILE: registry.env.SSL_CERT_FILE });
      await found.runs("get", "-update");
      await found.runs("providers", "lock", `-platform=${HERE}`, `-platform=${ELSEWHERE}`);
      assert.equal((await found.lockedHashes()).h1.length, 2);
    });

    test("init refuses a certificate of an unknown CA", { skip }, async (t) => {
      const found = await work(t, {});
      assert.match(await found.fails("init"), /certificate signed by unknown authority/);
    });
  });
});
