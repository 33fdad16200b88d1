// Keys and signatures by gpg, with which providers are usually signed.
import assert from "node:assert/strict";
import { join } from "node:path";

import { HOST, usingProvider, withEachClient } from "../support/client.mjs";
import { GpgHome } from "../support/gpg.mjs";
import { unlessOnPath } from "../support/programs.mjs";
import { useRegistry } from "../support/registry.mjs";
import { HERE, provider } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { after, before, describe, test } from "../support/testing.mjs";

const KEYS = {
  "an RSA key of 3072 bits": (gpg) => gpg.makeKey("rsa3072"),
  "an Ed25519 key": (gpg) => gpg.makeKey("ed25519"),
  "the RSA signing subkey of a key that only certifies": (gpg) => gpg.makeKeyWithSigningSubkey("rsa3072"),
  "the Ed25519 signing subkey of a key that only certifies": (gpg) => gpg.makeKeyWithSigningSubkey("ed25519"),
};

describe("gpg", { skip: unlessOnPath("gpg") }, () => {
  const registry = useRegistry();
  const directory = scratch();
  const homes = [];
  /** The published releases, by their keys: each namespace is named by its number. */
  const signed = Object.keys(KEYS).map((title, number) => ({ title, namespace: `team${number}` }));

  async function newHome(name) {
    const home = await GpgHome.create(join(directory, name));
    homes.push(home);
    return home;
  }

  before(async () => {
    for (const { title, namespace } of signed) {
      const gpg = await newHome(namespace);
      await KEYS[title](gpg);
      await registry.trusts(namespace, { publicKey: await gpg.exportArmored() });
      const release = (version, sign) => provider({ address: `${namespace}/hello`, version, key: { sign } });
      await registry.publishes(
        release("1.0.0", async (text) => (await gpg.signDetached(text)).toString("base64")),
        release("1.0.1", async (text) => (await gpg.signDetached(text, ["--armor"])).toString()),
      );
    }
  });
  after(() => Promise.all(homes.map((gpg) => gpg.close())));

  for (const { title, namespace } of signed) {
    for (const [version, form] of [["1.0.0", "in binary"], ["1.0.1", "in armour"]]) {
      test(`gpg verifies the served files, signed ${form} by ${title}`, async () => {
        const download = await registry.json(`/v1/providers/${namespace}/hello/${version}/download/${HERE.replace("_", "/")}`);
        const [{ ascii_armor: key, key_id: keyId }] = download.signing_keys.gpg_public_keys;
        const user = await newHome(`user-${namespace}-${version}`);
        await user.import(key);
        assert.match(await user.listKeys(), new RegExp(`^pub:.*:${keyId}:`, "m"));
        const said = await user.verify(await fetched(download.shasums_url), await fetched(download.shasums_signature_url));
        assert.match(said, /Good signature/);
      });
    }
  }

  withEachClient((client) => {
    for (const { title, namespace } of signed) {
      test(`installs releases signed by ${title}, binary and armoured (2.3.3, 2.3.7)`, async (t) => {
        for (const version of ["1.0.0", "1.0.1"]) {
          const work = await client.workspace(t, registry, { "main.tf": usingProvider(`${HOST}/${namespace}/hello`, version) });
          const { said } = await work.runs("init");
          assert.match(said, /signed, key ID [0-9A-F]{16}/);
        }
      });
    }

    test("installs a release signed by an expired key, after the publisher was warned (2.3.7)", async (t) => {
      const gpg = await newHome(`expired-${client.name}`);
      const yearsAgo = ["--faked-system-time", "20200101T120000!"];
      await gpg.makeKey("ed25519", { lifetime: "1d", time: yearsAgo });
      const namespace = `expired-${client.name}`;
      await registry.trusts(namespace, { publicKey: await gpg.exportArmored() });
      const sign = async (text) => (await gpg.signDetached(text, yearsAgo)).toString("base64");
      const { status, answer } = await registry.publish(provider({ address: `${namespace}/hello`, version: "1.0.0", key: { sign } }));
      assert.equal(status, 201, JSON.stringify(answer));
      assert.match(answer.warnings.join(), /expired/);
      const work = await client.workspace(t, registry, { "main.tf": usingProvider(`${HOST}/${namespace}/hello`, "1.0.0") });
      await work.runs("init");
    });
  });
});

async function fetched(url) {
  const response = await fetch(url);
  assert.equal(response.status, 200);
  return Buffer.from(await response.arrayBuffer());
}
