// The one server of the smoke files: the Worker in workerd, with presigned URLs, a provider of sign-ins and an issuer of CI tokens.
import { exportJWK, generateKeyPair, SignJWT } from "jose";

import { buildWorker, checkWorker } from "../../../scripts/build.mjs";
import { temporaryDirectory } from "../../../scripts/lib/cleanup.mjs";
import { freePort, startServer } from "../../../scripts/server.mjs";
import { Registry } from "../../clients/support/registry.mjs";
import { openProvider } from "../../clients/support/sign-in.mjs";
import { before, cleanupOf } from "../../clients/support/testing.mjs";
import { serveTls } from "../../clients/support/tls-server.mjs";

/**
 * The variable with the running server, as JSON: parts of what `startServer` returns, `ca`, the file with the CA of the other two,
 * `job`, the token of a CI job, which is valid for five minutes, and the `worker`.
 */
const VARIABLE = "TERRACE_TEST_SERVER";

/** The namespace that only signed-in people of the group `staff` read. Everything else is public. */
export const PRIVATE = "hidden";

/** The namespace that jobs of the repository `trusted/infra` may publish to. */
export const OF_JOBS = "trusted";

const JOB = { sub: `repo:${OF_JOBS}/infra:ref:refs/heads/main`, repository: `${OF_JOBS}/infra` };
const PEOPLE = { ann: { groups: ["staff"] } };

/** The settings of the server, which all files share. */
const settings = (provider, issuer) => ({
  ...provider.vars,
  TERRACE_ACCESS_EXCEPT: PRIVATE,
  TERRACE_LOGIN_RULES: JSON.stringify([{ scopes: [`read:${PRIVATE}`], claims: { groups: "staff" } }]),
  TERRACE_LOGIN_SCOPES: "openid email groups",
  TERRACE_TRUSTED_PUBLISHERS: [{ scopes: [`publish:${OF_JOBS}`], issuer: issuer.url, identifies: true, claims: { repository: JOB.repository } }],
});

/** Starts the server; `worker` is that of `startServer`. Returns the environment of the smoke files. */
export async function startSmokeServer(cleanup, { worker = checkWorker } = {}) {
  const certificates = temporaryDirectory(cleanup);
  const port = await freePort();
  const provider = await openProvider(`http://127.0.0.1:${port}`, certificates, PEOPLE);
  cleanup.add("stopping the provider of sign-ins", provider.stop);
  const issuer = await openIssuer(certificates);
  cleanup.add("stopping the issuer", issuer.stop);
  const { url, secrets, s3, services, logFile } = await startServer(cleanup, { port, worker, trusts: provider.ca, vars: settings(provider, issuer) });
  const job = await issuer.tokenOf(JOB, url);
  return { [VARIABLE]: JSON.stringify({ url, secrets, s3, services, logFile, job, ca: provider.ca, worker }) };
}

/** Starts an issuer of the tokens of CI jobs, over TLS. `tokenOf` makes one with these claims, which lasts as long as GitHub's. */
async function openIssuer(directory) {
  const { privateKey, publicKey } = await generateKeyPair("RS256");
  const keys = [{ ...(await exportJWK(publicKey)), kid: "of-this-run", alg: "RS256", use: "sig" }];
  const server = await serveTls(directory, (request, response) => {
    const document = request.url === "/jwks" ? { keys } : { issuer: server.url, jwks_uri: `${server.url}/jwks` };
    response.setHeader("content-type", "application/json").end(JSON.stringify(document));
  });
  const tokenOf = (claims, audience) =>
    new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "of-this-run" }).setIssuer(server.url).setAudience(audience).setIssuedAt().setExpirationTime("5m").sign(privateKey);
  return { ...server, tokenOf };
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
