// The OpenPGP key that signs the example provider: made once on each machine, never in the repository.

import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import * as openpgp from "openpgp";

const USER_ID = { name: "Terrace example provider", comment: "made on this machine, for this machine" };

/** The key kept in `directory`, made on first use. */
export async function signingKey(directory, log) {
  const privateKeyFile = join(directory, "private.asc");
  const publicKeyFile = join(directory, "public.asc");

  await mkdir(directory, { recursive: true, mode: 0o700 });
  const armored = (await readIfThere(privateKeyFile)) ?? (await makeKey(privateKeyFile, log));
  const privateKey = await openpgp.readPrivateKey({ armoredKey: armored });
  const publicKey = privateKey.toPublic().armor();
  await writeFile(publicKeyFile, publicKey);

  return {
    publicKey,
    publicKeyFile,

    /** A binary detached signature, the only kind that Terraform reads. */
    async signDetached(text) {
      return openpgp.sign({
        message: await openpgp.createMessage({ binary: Buffer.from(text) }),
        signingKeys: privateKey,
        detached: true,
        format: "binary",
        // The same text gets the same signature, so signing again is never another release.
        date: privateKey.getCreationTime(),
        config: { nonDeterministicSignaturesViaNotation: false },
      });
    },
  };
}

/** Ed25519 in its older (version 4 EdDSA) form, which every gpg and every Terraform can verify. */
async function makeKey(file, log) {
  const { privateKey } = await openpgp.generateKey({
    type: "ecc",
    curve: "ed25519Legacy",
    userIDs: [USER_ID],
    subkeys: [],
    format: "armored",
  });
  await writeFile(`${file}.new`, privateKey, { mode: 0o600 });
  await rename(`${file}.new`, file);
  log(`made a signing key for the examples: ${file}`);
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
