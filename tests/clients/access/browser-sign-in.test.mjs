// The sign-in of a browser at a private registry, with an independent provider. No browser takes part: a client with a
// cookie jar follows each redirect, and checks it.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import tls from "node:tls";

import { freePort } from "../../../scripts/server.mjs";
import { useRegistry } from "../support/registry.mjs";
import { module as release, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { openProvider } from "../support/sign-in.mjs";
import { after, before, describe, test } from "../support/testing.mjs";
import { Visitor } from "../support/visitor.mjs";

const skip = process.platform === "linux" ? false : "the tests' CA works only on Linux";

const RULES = [
  { scopes: ["read:acme"], claims: { groups: "staff" } },
  { scopes: ["admin"], claims: { groups: "operators" } },
];
const PEOPLE = {
  ann: { groups: ["staff"] },
  eve: { groups: ["staff", "operators"] },
  bob: { groups: ["guests"] },
};

const SESSION = "__Host-terrace";

describe("sign-in of a browser", { skip }, () => {
  const directory = scratch();
  let provider;
  after(() => provider?.stop());
  const registry = useRegistry(async () => {
    const port = await freePort();
    provider = await openProvider(`https://127.0.0.1:${port}`, join(directory, "provider"), PEOPLE);
    const vars = {
      ...provider.vars,
      TERRACE_ACCESS: "private",
      TERRACE_LOGIN_RULES: JSON.stringify(RULES),
      TERRACE_LOGIN_SCOPES: "openid email groups",
    };
    return { https: true, port, trusts: provider.ca, vars };
  });
  let origin;
  before(async () => {
    const authorities = [registry.env.SSL_CERT_FILE, provider.ca];
    tls.setDefaultCACertificates(await Promise.all(authorities.map((file) => readFile(file, "utf8"))));
    ({ origin } = new URL(registry.url));
    for (const namespace of ["acme", "globex"]) {
      await registry.publishes(release({ address: `${namespace}/vpc/aws`, version: "1.0.0", files: saying("hello") }));
    }
  });

  const READ = "/api/v1/modules/acme/vpc/aws";

  /** Signs in, from the page that the visitor opens to the answer of the callback. */
  async function signedIn(login, page = "/modules/acme/vpc/aws/1.0.0?tab=inputs") {
    const visitor = new Visitor();
    const refused = await visitor.request(origin + page);
    assert.equal(refused.status, 303);
    const start = new URL(refused.headers.get("location"), origin);
    assert.equal(start.pathname, "/sign-in");
    assert.equal(start.searchParams.get("to"), page);
    const sent = await visitor.request(start.href);
    assert.equal(sent.status, 303);
    const back = await visitor.signsIn(sent.headers.get("location"), login);
    assert.ok(back.startsWith(`${origin}/oauth/callback?`), back);
    return { visitor, back, answer: await visitor.request(back) };
  }

  const session = (visitor) => visitor.cookies(origin).get(SESSION);

  test("a person returns to the page asked for, and reads what the rules grant", async () => {
    const { visitor, answer } = await signedIn("ann");
    assert.equal(answer.status, 303);
    assert.equal(answer.headers.get("location"), "/modules/acme/vpc/aws/1.0.0?tab=inputs");
    const line = answer.headers.getSetCookie().find((it) => it.startsWith(`${SESSION}=`));
    for (const attribute of ["Path=/", "Max-Age=43200", "Secure", "HttpOnly", "SameSite=Lax"]) assert.ok(line.includes(`; ${attribute}`), line);
    const read = await visitor.request(origin + READ);
    assert.equal(read.status, 200);
    assert.equal(read.headers.get("access-control-allow-origin"), null);
    assert.equal(read.headers.get("vary"), "cookie");
    assert.match(read.headers.get("cache-control"), /private/);
    const hidden = await visitor.request(`${origin}/api/v1/modules/globex/vpc/aws`);
    const missing = await visitor.request(`${origin}/api/v1/modules/nobody/vpc/aws`);
    assert.deepEqual([hidden.status, missing.status], [404, 404]);
    assert.equal((await hidden.text()).replace("globex", "X"), (await missing.text()).replace("nobody", "X"));
  });

  test("a session opens neither a protocol nor the admin API, as a cookie or as a token", async () => {
    const { visitor } = await signedIn("eve");
    assert.equal((await visitor.request(`${origin}/api/v1/modules/globex/vpc/aws`)).status, 200);
    const paths = ["/v1/modules/acme/vpc/aws/versions", "/v1/modules/acme/vpc/aws/1.0.0/download", "/v2/modules/acme/vpc/aws/tags/list", "/admin/v1/tokens"];
    for (const path of paths) assert.equal((await visitor.request(origin + path)).status, 401, path);
    const headers = { authorization: `Bearer ${session(visitor)}` };
    for (const path of [...paths, READ]) assert.equal((await fetch(origin + path, { headers })).status, 401, path);
    const { answer } = await registry.admin("GET", "/admin/v1/tokens");
    assert.deepEqual(answer.tokens, [], "a session is not stored as a token");
  });

  test("the callback of another browser begins no session", async () => {
    const { back } = await signedIn("ann");
    const other = new Visitor();
    await other.request(`${origin}/sign-in`);
    const answer = await other.request(back);
    assert.equal(answer.status, 400);
    assert.equal(session(other), undefined);
    assert.match(await answer.text(), /not started in this browser.*Sign in again/s);
  });

  test("a person without a matching rule gets no session, and reads why", async () => {
    const { visitor, answer } = await signedIn("bob");
    assert.equal(answer.status, 403);
    assert.equal(session(visitor), undefined);
    assert.match(await answer.text(), /bob@acme\.example.*no sign-in rule.*Sign in again/s);
  });

  test("a sign-in returns to no other website", async () => {
    for (const to of ["//evil.example", "/\\evil.example", "https://evil.example/", "/%2f%2fevil.example", "/oauth/authorize"]) {
      const visitor = new Visitor();
      const sent = await visitor.request(`${origin}/sign-in?${new URLSearchParams({ to })}`);
      const back = await visitor.signsIn(sent.headers.get("location"), "ann");
      assert.equal((await visitor.request(back)).headers.get("location"), "/", to);
    }
  });

  test("only a page of the registry signs the browser out", async () => {
    const { visitor } = await signedIn("ann");
    const signOut = (site) => visitor.request(`${origin}/sign-out`, { method: "POST", headers: { "sec-fetch-site": site } });
    assert.equal((await signOut("cross-site")).status, 403);
    assert.equal((await visitor.request(origin + READ)).status, 200);
    const answer = await signOut("same-origin");
    assert.equal(answer.status, 303);
    assert.equal(answer.headers.get("location"), "/sign-out");
    assert.equal(session(visitor), undefined);
    assert.match(await (await visitor.request(`${origin}/sign-out`)).text(), /You are signed out/);
    assert.equal((await visitor.request(origin + READ)).status, 401);
  });
});
