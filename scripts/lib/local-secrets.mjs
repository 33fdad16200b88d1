// The secrets of the registry on this machine, which are created once.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { newSecrets } from "../server.mjs";

/** Returns the secrets that are stored in `stateDir`, or creates them. */
export async function secretsIn(stateDir) {
  const file = join(stateDir, "secrets.json");
  const text = await readFile(file, "utf8").catch(() => null);
  if (text !== null) return readSecrets(file, text);
  const made = newSecrets();
  await writeFile(file, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 });
  return made;
}

function readSecrets(file, text) {
  try {
    const { adminToken, s3 } = JSON.parse(text);
    if (adminToken && s3?.accessKeyId && s3?.secretAccessKey) return { adminToken, s3 };
  } catch {
    // Reported below.
  }
  throw new Error(`${file} is not a valid secrets file of an earlier start. Remove it: new secrets are created, and published packages stay.`);
}
