// The programs that the tests with real clients run, and that no other test needs.
import { ensureBrowser } from "./browser.mjs";
import { ensureMcpClients } from "./mcp-clients.mjs";
import { ensureOciClients } from "./oci-clients.mjs";
import { ensureOldTerraform } from "./old-terraform.mjs";

/** Installs the missing programs. Returns the directories to put on PATH, and the reason for each missing program, by name. */
export async function ensureClients() {
  const { directories, reasons } = await ensureOciClients();
  Object.assign(reasons, await ensureBrowser(), await ensureOldTerraform(), await ensureMcpClients());
  return { directories, reasons };
}
