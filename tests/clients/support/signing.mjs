// Keys for tests that are not about keys.
import { ED25519, signingKey } from "../../../examples/packaging/signing-key.mjs";

/** A new key in `directory`; `sign` returns a signature in the form of the admin API. `kind` as of `signingKey`. */
export async function newKey(directory, kind = ED25519) {
  const key = await signingKey(directory, () => {}, kind);
  return {
    publicKey: key.publicKey,
    sign: async (text) => Buffer.from(await key.signDetached(text)).toString("base64"),
  };
}
