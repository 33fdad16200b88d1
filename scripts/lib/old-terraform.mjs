// The last Terraform that verifies signatures with golang.org/x/crypto/openpgp, which does not support
// Ed25519 keys. It is in wide use, because it is the last one under the old licence. It is built for tests,
// in addition to the `terraform` on PATH.
import { existsSync } from "node:fs";
import { join } from "node:path";

import { goHome, goInstall } from "./go.mjs";
import { exe } from "./paths.mjs";
import { say } from "./step.mjs";

const VERSION = "v1.5.7";

export const OLD_TERRAFORM = `terraform ${VERSION}`;

const program = join(goHome("terraform", VERSION), exe("terraform"));

/** Returns its path, or `null` if it has not been built. */
export const oldTerraform = () => (existsSync(program) ? program : null);

/** Builds it if Go is present, which takes minutes, once per user. Returns the reason if it is missing, by its name. */
export async function ensureOldTerraform() {
  try {
    await goInstall("terraform", "github.com/hashicorp/terraform", VERSION);
    return {};
  } catch (error) {
    const reason = `${OLD_TERRAFORM} is not in the cache, and ${error.message}`;
    say(`- ${reason}`);
    return { [OLD_TERRAFORM]: reason };
  }
}
