// Keys for tests that are not about keys.
import { signingKey } from "../../../examples/packaging/signing-key.mjs";

/** A new key in `directory`; `sign` makes what the admin API wants to be sent. */
export async function newKey(directory) {
  const key = await signingKey(directory, () => {});
  return {
    publicKey: key.publicKey,
    sign: async (text) => Buffer.from(await key.signDetached(text)).toString("base64"),
  };
}
