// Signing keys for tests of other features.
import { ED25519, signingKey } from "./signing-key.mjs";

/** Creates a key in `directory`; `sign` returns a signature in the form of the admin API. `kind` is that of `signingKey`. */
export async function newKey(directory, kind = ED25519) {
  const key = await signingKey(directory, () => {}, kind);
  return {
    publicKey: key.publicKey,
    sign: async (text) => Buffer.from(await key.signDetached(text)).toString("base64"),
  };
}
