// The key that signs the example provider.
import assert from "node:assert/strict";

import { createMessage, readKey, readSignature, verify } from "openpgp";

import { rsaKey } from "../../examples/packaging/rsa-key.mjs";
import { temporaryDirectory } from "../../scripts/lib/cleanup.mjs";
import { cleanupOf, test } from "../clients/support/testing.mjs";

const algorithmOf = async ({ publicKey }) => (await readKey({ armoredKey: publicKey })).getAlgorithmInfo();

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
