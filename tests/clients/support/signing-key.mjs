// OpenPGP keys for tests.

import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import * as openpgp from "openpgp";

const USER_ID = { name: "Terrace example provider", comment: "made on this machine, for this machine" };

/** RSA, which every client verifies: Terraform before 1.6 does not support Ed25519. 3072 bits are gpg's default. */
export const RSA = { type: "rsa", rsaBits: 3072 };

/** Ed25519 in its older form (version 4 EdDSA), which current clients verify. It is generated instantly, RSA in seconds. */
export const ED25519 = { type: "ecc", curve: "ed25519Legacy" };

/** Returns the key in `directory`, which is created on first use. An existing key stays, because it signed published releases. */
export async function signingKey(directory, log, kind = RSA) {
  const privateKeyFile = join(directory, "private.asc");
  const publicKeyFile = join(directory, "public.asc");

  await mkdir(directory, { recursive: true, mode: 0o700 });
  const armored = (await readIfThere(privateKeyFile)) ?? (await makeKey(privateKeyFile, log, kind));
  const privateKey = await openpgp.readPrivateKey({ armoredKey: armored });
  const publicKey = privateKey.toPublic().armor();
  await writeFile(publicKeyFile, publicKey);

  return {
    publicKey,
    publicKeyFile,

    /** Creates a binary detached signature, the only kind that Terraform reads. */
    async signDetached(text) {
      return openpgp.sign({
        message: await openpgp.createMessage({ binary: Buffer.from(text) }),
        signingKeys: privateKey,
        detached: true,
        format: "binary",
        // The same text gets the same signature, so signing again does not create another release.
        date: privateKey.getCreationTime(),
        config: { nonDeterministicSignaturesViaNotation: false },
      });
    },
  };
}

async function makeKey(file, log, kind) {
  const { privateKey } = await openpgp.generateKey({
    ...kind,
    userIDs: [USER_ID],
    subkeys: [],
    format: "armored",
  });
  await writeFile(`${file}.new`, privateKey, { mode: 0o600 });
  await rename(`${file}.new`, file);
  log(`created a signing key for the examples: ${file}`);
  return privateKey;
}

async function readIfThere(file) {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}
