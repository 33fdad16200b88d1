// The last Terraform that verifies signatures with golang.org/x/crypto/openpgp, which knows no Ed25519 keys. It is in wide use,
// as the last one under its old license. Built for tests, beside the `terraform` on PATH.
import { existsSync } from "node:fs";
import { join } from "node:path";

import { goHome, goInstall } from "./go.mjs";
import { exe } from "./paths.mjs";
import { say } from "./step.mjs";

const VERSION = "v1.5.7";

export const OLD_TERRAFORM = `terraform ${VERSION}`;

const program = join(goHome("terraform", VERSION), exe("terraform"));

/** Its path, or `null` where it has not been built. */
export const oldTerraform = () => (existsSync(program) ? program : null);

/** Builds it where Go is there: minutes, once per user. Returns the reason if there is none, by its name. */
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
