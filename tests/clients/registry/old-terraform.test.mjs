// Terraform 1.5.7, whose OpenPGP library does not support Ed25519 keys. The example has its own test, with
// its RSA key.
import assert from "node:assert/strict";
import { join } from "node:path";

import { RSA } from "../support/signing-key.mjs";
import { networkMirror, onlyLinux, usingModule, usingProvider, withOldTerraform } from "../support/client.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { HERE, module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, describe, test } from "../support/testing.mjs";

withOldTerraform((client) => inBothModes((mode) => {
  const registry = useRegistry({ mode, https: true });
  const directory = scratch();
  let host;

  before(async () => {
    host = new URL(registry.url).host;
    for (const [namespace, kind] of [["rsa", RSA], ["ed25519"]]) {
      const key = await newKey(join(directory, namespace), kind);
      await registry.trusts(namespace, key);
      await registry.publishes(provider({ address: `${namespace}/hello`, version: "1.0.0", key }));
    }
    await registry.publishes(module({ address: "acme/greeting/aws", version: "1.0.0", files: saying("hello") }));
  });

  const workspace = (t, text, config = "") =>
    client.workspace(t, registry, { "main.tf": text }, { config, env: { SSL_CERT_FILE: registry.env.SSL_CERT_FILE } });

  const mirror = () => networkMirror(registry);

  describe("by hostname and network mirror", { skip: onlyLinux }, () => {
    test("a provider signed by an RSA key is installed, and again from the lock file", async (t) => {
      const work = await workspace(t, usingProvider(`${host}/rsa/hello`, "1.0.0"));
      assert.match((await work.runs("init")).said, /Installed \S+\/rsa\/hello v1\.0\.0 \(self-signed, key ID [0-9A-F]{16}\)/);
      await work.remove(".terraform");
      await work.runs("init", "-lockfile=readonly");
    });

    test("a provider signed by an Ed25519 key is refused", async (t) => {
      const work = await workspace(t, usingProvider(`${host}/ed25519/hello`, "1.0.0"));
      assert.match(await work.fails("init"), /error decoding signing key: openpgp: unsupported feature: public key type: 22/);
    });

    for (const namespace of ["rsa", "ed25519"]) {
      test(`a provider of the namespace ${namespace} is installed from the network mirror, which has no signatures`, async (t) => {
        // A mirror cannot serve a provider whose hostname has a port.
        const work = await workspace(t, usingProvider(`127.0.0.1/${namespace}/hello`, "1.0.0"), mirror());
        await work.runs("init");
        await work.runs("providers", "lock", `-net-mirror=${registry.url}/mirror/`, `-platform=${HERE}`);
      });
    }

    test("a module is installed and used", async (t) => {
      const work = await workspace(t, usingModule(`${host}/acme/greeting/aws`, "1.0.0"));
      await work.runs("init");
      assert.deepEqual(await work.outputs(), { says: "hello" });
    });
  });
}));
