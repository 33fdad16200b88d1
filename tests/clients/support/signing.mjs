// OpenPGP keys for tests.
import * as openpgp from "openpgp";

/** RSA, which every client verifies: Terraform before 1.6 does not support Ed25519. 3072 bits are gpg's default. */
export const RSA = { type: "rsa", rsaBits: 3072 };

/** Ed25519 in its older form (version 4 EdDSA), which current clients verify. It is generated instantly, RSA in seconds. */
const ED25519 = { type: "ecc", curve: "ed25519Legacy" };

/** Creates a key; `sign` returns a binary detached signature in the form of the admin API. */
export async function newKey(kind = ED25519) {
  const { privateKey, publicKey } = await openpgp.generateKey({ ...kind, userIDs: [{ name: "Test" }], subkeys: [], format: "object" });
  // The same text gets the same signature, so signing again does not create another release.
  const options = { signingKeys: privateKey, detached: true, format: "binary", date: privateKey.getCreationTime(), config: { nonDeterministicSignaturesViaNotation: false } };
  return {
    publicKey: publicKey.armor(),
    async sign(text) {
      const message = await openpgp.createMessage({ binary: Buffer.from(text) });
      return Buffer.from(await openpgp.sign({ message, ...options })).toString("base64");
    },
  };
}
