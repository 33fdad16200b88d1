// The one server of the smoke files: the Worker in workerd, with presigned URLs and a provider of sign-ins.
import { buildWorker, checkWorker } from "../../../scripts/build.mjs";
import { temporaryDirectory } from "../../../scripts/lib/cleanup.mjs";
import { freePort, startServer } from "../../../scripts/server.mjs";
import { Registry } from "../../clients/support/registry.mjs";
import { openProvider } from "../../clients/support/sign-in.mjs";
import { before, cleanupOf } from "../../clients/support/testing.mjs";

/**
 * The variable with the running server, as JSON: parts of what `startServer` returns, `ca`, the file with the CA of the
 * provider, and the `worker`.
 */
const VARIABLE = "TERRACE_TEST_SERVER";

/** The namespace that only signed-in people of the group `staff` read. Everything else is public. */
export const PRIVATE = "hidden";

const PEOPLE = { ann: { groups: ["staff"] } };

/** The settings of the server, which all files share. A setting may be a list, as in `[vars]` of wrangler.toml. */
const settings = (provider) => ({
  ...provider.vars,
  TERRACE_ACCESS_EXCEPT: PRIVATE,
  TERRACE_LOGIN_RULES: [{ scopes: [`read:${PRIVATE}`], claims: { groups: "staff" } }],
  TERRACE_LOGIN_SCOPES: "openid email groups",
});

/** Starts the server; `worker` is that of `startServer`. Returns the environment of the smoke files. */
export async function startSmokeServer(cleanup, { worker = checkWorker } = {}) {
  const certificates = temporaryDirectory(cleanup);
  const port = await freePort();
  const provider = await openProvider(`http://127.0.0.1:${port}`, certificates, PEOPLE);
  cleanup.add("stopping the provider of sign-ins", provider.stop);
  const { url, secrets, s3, services, logFile } = await startServer(cleanup, { port, worker, trusts: provider.ca, vars: settings(provider) });
  return { [VARIABLE]: JSON.stringify({ url, secrets, s3, services, logFile, ca: provider.ca, worker }) };
}

/**
 * Returns the registry of the smoke files, for the suite that is being defined. Without a server in the environment, the file
 * starts one of its own. Files publish bytes of their own into namespaces of their own: of two concurrent uploads of the same
 * archive, one is refused.
 */
export function smokeRegistry() {
  const registry = new Registry();
  const cleanup = cleanupOf();
  before(async () => Object.assign(registry, JSON.parse(process.env[VARIABLE] ?? (await ownServer(cleanup)))), "finding the registry");
  return registry;
}

async function ownServer(cleanup) {
  return (await startSmokeServer(cleanup, { worker: await smokeWorker() }))[VARIABLE];
}

/** Returns the Worker that is tested, for a file that starts another server. */
export async function smokeWorker() {
  if (process.env[VARIABLE]) return JSON.parse(process.env[VARIABLE]).worker;
  await buildWorker({ optimised: false });
  return checkWorker;
}
