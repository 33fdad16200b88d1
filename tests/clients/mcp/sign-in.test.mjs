// The sign-in of clients of the Model Context Protocol, with an independent provider: the official SDK finds it from a 401, and
// performs the whole flow. No browser takes part: a client with a cookie jar follows each redirect.
import assert from "node:assert/strict";
import { join } from "node:path";

import { freePort } from "../../../scripts/server.mjs";
import { signingIn, TOOLS, unlessInstalled } from "../support/mcp.mjs";
import { trustCa, useRegistry } from "../support/registry.mjs";
import { module as release, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { openProvider } from "../support/sign-in.mjs";
import { after, before, describe, test } from "../support/testing.mjs";
import { serveTls } from "../support/tls-server.mjs";
import { Visitor } from "../support/visitor.mjs";

const skip = process.platform === "linux" ? false : "the tests' CA works only on Linux";

const RULES = [{ scopes: ["publish:acme"], claims: { groups: "staff" } }];
const PEOPLE = { ann: { groups: ["staff"] } };

/** The URL at which a client waits. Nothing listens there: the test reads the redirect itself. */
const REDIRECT = "http://127.0.0.1:33418/callback";

/** Serves the document of a client, with the certificates of the provider. */
async function serveDocument(directory) {
  const document = { client_name: "Test Assistant", redirect_uris: ["http://127.0.0.1/callback"], token_endpoint_auth_method: "none" };
  const asked = [];
  const server = await serveTls(directory, (request, response) => {
    asked.push(request.url);
    const url = `https://${request.headers.host}${request.url}`;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ...document, client_id: url }));
  });
  const host = `localhost:${server.port}`;
  return { host, url: `https://${host}/oauth/client.json`, asked, stop: server.stop };
}

describe("sign-in of clients of the Model Context Protocol", { skip }, () => {
  const directory = scratch();
  let provider, client;
  after(() => {
    provider?.stop();
    client?.stop();
  });
  const registry = useRegistry(async () => {
    const port = await freePort();
    const certificates = join(directory, "provider");
    provider = await openProvider(`https://127.0.0.1:${port}`, certificates, PEOPLE);
    client = await serveDocument(certificates);
    const vars = {
      ...provider.vars,
      TERRACE_ACCESS: "private",
      TERRACE_LOGIN_RULES: JSON.stringify(RULES),
      TERRACE_LOGIN_SCOPES: "openid email groups",
      TERRACE_MCP_CLIENT_HOSTS: client.host,
    };
    return { https: true, port, trusts: provider.ca, vars };
  });
  let origin;
  before(async () => {
    await trustCa(provider.ca);
    ({ origin } = new URL(registry.url));
    for (const namespace of ["acme", "globex"]) {
      await registry.publishes(release({ address: `${namespace}/vpc/aws`, version: "1.0.0", files: saying("hello") }));
    }
  });

  /** Signs a person in at the URL that a client opens. Returns the redirect to the client after the answer to the question. */
  async function agrees(url, answer) {
    const visitor = new Visitor();
    const sent = await visitor.request(url);
    assert.equal(sent.status, 303, await sent.text());
    const back = await visitor.signsIn(sent.headers.get("location"), "ann");
    const question = await (await visitor.request(back)).text();
    assert.match(question, /<strong>Test Assistant<\/strong>, as described by <strong>localhost:\d+<\/strong>,/);
    const [, consent] = /name="consent" value="([^"]+)"/.exec(question);
    const body = new URLSearchParams({ consent, answer });
    const answered = await visitor.request(`${origin}/oauth/consent`, { method: "POST", body });
    assert.equal(answered.status, 303);
    const redirect = new URL(answered.headers.get("location"));
    assert.equal(redirect.origin + redirect.pathname, REDIRECT);
    assert.equal(redirect.searchParams.get("iss"), origin);
    return redirect.searchParams;
  }

  for (const name of ["sdk", "client"]) {
    for (const path of ["/mcp", "/mcp/private"]) {
      test(`${name === "sdk" ? "the SDK of older revisions" : "the newest SDK"} signs a person in at ${path}`, { skip: unlessInstalled(name) }, async () => {
        const asked = client.asked.length;
        const found = await signingIn(name, { url: `${origin}${path}`, id: client.url, redirect: REDIRECT }, (url) => {
          assert.equal(url.searchParams.get("client_id"), client.url);
          assert.equal(url.searchParams.get("resource"), `${origin}${path}`);
          return agrees(url.href, "allow");
        });
        assert.deepEqual(found.tools, TOOLS);
        assert.equal(found.tokens.scope, "read:acme");
        assert.equal(client.asked.length, asked + 1);
        const headers = { authorization: `Bearer ${found.tokens.access_token}` };
        const elsewhere = await fetch(`${origin}/v1/modules/acme/vpc/aws/versions`, { headers });
        assert.equal(elsewhere.status, 401);
        assert.match(await elsewhere.text(), /token of an MCP client/);
        const { answer } = await registry.admin("GET", "/admin/v1/tokens");
        const mine = answer.tokens.filter(({ resource }) => resource === `${origin}${path}`);
        assert.ok(mine.length > 0 && mine.every((token) => token.name === "ann@acme.example"), JSON.stringify(answer));
      });
    }

    test(`${name}: a refusal gives no token`, { skip: unlessInstalled(name) }, async () => {
      const refused = signingIn(name, { url: `${origin}/mcp`, id: client.url, redirect: REDIRECT }, async (url) => {
        const parameters = await agrees(url.href, "refuse");
        assert.equal(parameters.get("code"), null);
        return parameters;
      });
      await assert.rejects(refused, /access_denied/);
    });
  }
});
