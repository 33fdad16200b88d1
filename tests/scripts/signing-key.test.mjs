// The key that signs the example provider.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { createMessage, readKey, readSignature, verify } from "openpgp";

import { rsaKey } from "../../examples/packaging/rsa-key.mjs";
import { ED25519, signingKey } from "../../examples/packaging/signing-key.mjs";
import { temporaryDirectory } from "../../scripts/lib/cleanup.mjs";
import { cleanupOf, test } from "../clients/support/testing.mjs";

const algorithmOf = async ({ publicKey }) => (await readKey({ armoredKey: publicKey })).getAlgorithmInfo();

test("a new key is RSA of 3072 bits, and stays the same", async (t) => {
  const directory = temporaryDirectory(cleanupOf(t));
  const key = await signingKey(directory, () => {});
  assert.deepEqual(await algorithmOf(key), { algorithm: "rsaEncryptSign", bits: 3072 });
  const again = await signingKey(directory, () => {});
  assert.equal(again.publicKey, key.publicKey);
  assert.deepEqual(await again.signDetached("text"), await key.signDetached("text"));
});

test("an existing Ed25519 key is kept, with a hint", async (t) => {
  const directory = temporaryDirectory(cleanupOf(t));
  const old = await signingKey(directory, () => {}, ED25519);
  const file = await readFile(join(directory, "private.asc"), "utf8");
  const lines = [];
  const key = await signingKey(directory, (line) => lines.push(line));
  assert.equal(key.publicKey, old.publicKey);
  assert.equal(await readFile(join(directory, "private.asc"), "utf8"), file);
  assert.match(lines.join("\n"), /is not an RSA key, and Terraform before 1\.6 refuses its signatures/);
});

test("the key that needs no package is one that OpenPGP programs read, with signatures that they verify", async (t) => {
  const directory = temporaryDirectory(cleanupOf(t));
  const key = await rsaKey(directory, () => {});
  assert.deepEqual(await algorithmOf(key), { algorithm: "rsaEncryptSign", bits: 3072 });
  const publicKey = await readKey({ armoredKey: key.publicKey });
  await publicKey.verifyPrimaryKey();
  const { selfCertification } = await publicKey.getPrimaryUser();
  assert.deepEqual([...selfCertification.keyFlags], [3]);

  const signature = await key.signDetached("text");
  const verdict = async (text) => {
    const { signatures } = await verify({
      message: await createMessage({ binary: Buffer.from(text) }),
      signature: await readSignature({ binarySignature: signature }),
      verificationKeys: publicKey,
    });
    return signatures[0].verified;
  };
  assert.equal(await verdict("text"), true);
  await assert.rejects(verdict("another text"), /digest did not match/);

  const again = await rsaKey(directory, () => {});
  assert.equal(again.publicKey, key.publicKey);
  assert.deepEqual(await again.signDetached("text"), signature);
});
