// An issuer of OpenID tokens over TLS, as organisations and CIs run one: oidc-provider, with a certificate of
// its own CA.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { buffer } from "node:stream/consumers";

import { serveTls } from "./tls-server.mjs";

/** The lifetime of a job's token in seconds, which equals GitHub's. */
const JOB_SECONDS = 300;

/**
 * Starts an issuer, whose `url` has a free port of this machine.
 *
 * - `directory`: keeps its certificate; `ca` is the file with the CA that issued it;
 * - `jobs`: the claims of jobs, by the names of the jobs, besides those of their times and their audience;
 * - `configuration`: more settings for oidc-provider, such as clients and sign-in; a function receives the `url`.
 *
 * `tokenOf(job, audience)` creates the token of a job. `answers(path, response)` may answer a request itself and return
 * true. `asked` contains the paths of all requests.
 */
export async function openIssuer({ directory, jobs = {}, configuration = {} }) {
  let handle;
  const server = await serveTls(directory, (incoming, response) => {
    issuer.asked.push(incoming.url);
    if (issuer.answers(incoming.url, response) !== true) handle(incoming, response);
  });
  const issuer = { ...server, asked: [], answers: () => false };
  const secrets = new Map(Object.keys(jobs).map((job) => [job, randomBytes(16).toString("hex")]));
  const own = typeof configuration === "function" ? configuration(issuer.url) : configuration;
  const provider = await newProvider(issuer.url, jobs, secrets, own);
  handle = provider.callback();
  const trusted = await readFile(issuer.ca, "utf8");
  issuer.tokenOf = (job, audience) => tokenOf(issuer.url, trusted, { job, secret: secrets.get(job), audience });
  return issuer;
}

/** Jobs are clients with client credentials; they receive signed access tokens with the claims of a CI. */
async function newProvider(url, jobs, secrets, { clients = [], features = {}, ...configuration }) {
  const { Provider } = await import("oidc-provider");
  const jobClients = [...secrets].map(([job, secret]) => ({
    client_id: job,
    client_secret: secret,
    grant_types: ["client_credentials"],
    redirect_uris: [],
    response_types: [],
  }));
  return new Provider(url, {
    ...configuration,
    clients: [...jobClients, ...clients],
    cookies: { keys: [randomBytes(16).toString("hex")], ...configuration.cookies },
    jwks: configuration.jwks ?? { keys: [newKey("of-this-run")] },
    formats: { customizers: { jwt: (_, token, jwt) => void Object.assign(jwt.payload, jobs[token.clientId]) } },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({
          scope: "",
          audience: resource,
          accessTokenFormat: "jwt",
          accessTokenTTL: JOB_SECONDS,
          jwt: { sign: { alg: "RS256" } },
        }),
      },
      ...features,
    },
  });
}

function newKey(id) {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: id, alg: "RS256", use: "sig" };
}

async function tokenOf(url, ca, { job, secret, audience }) {
  const form = new URLSearchParams({ grant_type: "client_credentials", resource: audience });
  const credentials = Buffer.from(`${encodeURIComponent(job)}:${secret}`).toString("base64");
  const headers = { authorization: `Basic ${credentials}`, "content-type": "application/x-www-form-urlencoded" };
  const asking = request(`${url}/token`, { method: "POST", headers, ca, agent: false });
  asking.end(form.toString());
  const [response] = await once(asking, "response");
  const text = (await buffer(response)).toString();
  if (response.statusCode !== 200) throw new Error(`the issuer answers ${response.statusCode}: ${text}`);
  return JSON.parse(text).access_token;
}
