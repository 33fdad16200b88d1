// `login`, end to end: the real clients in a terminal, a real browser, and an independent provider.
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import tls from "node:tls";

import { cli } from "../../../scripts/build.mjs";
import { run } from "../../../scripts/lib/run.mjs";
import { freePort } from "../../../scripts/server.mjs";
import { usingProvider, withEachClient } from "../support/client.mjs";
import { useRegistry } from "../support/registry.mjs";
import { provider as release } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { openBrowser, openProvider, openRepeater, sealed, signIn, Terminal, textOf, unlessSignInWorks } from "../support/sign-in.mjs";
import { newKey } from "../support/signing.mjs";
import { after, before, describe, test } from "../support/testing.mjs";

const skip = unlessSignInWorks();

const RULES = [
  { scopes: ["read"], claims: { email: "*@acme.example", groups: "staff" } },
  { scopes: ["publish:acme"], claims: { groups: "platform" } },
];
const PEOPLE = {
  ann: { groups: ["staff", "platform"] },
  bob: { groups: ["guests"] },
  eve: { groups: ["staff"], email_verified: false },
};

/** The buttons of the registry's own page. */
const ALLOW = "button[value=allow]";
const REFUSE = "button[value=refuse]";

/** Returns the environment of a user who has no token but those of the client. */
function withoutTokens(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(TERRACE|ACTIONS)_/.test(name)));
}

/** Returns `false` if the client closed its listener before its answer was sent: it does that as soon as it has the code. */
function closedEarly(error) {
  if (!/net::ERR_(CONNECTION_|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)/.test(error.message)) throw error;
  return false;
}

describe("login", { skip }, () => {
  const directory = scratch();
  let provider, browser;
  after(async () => {
    await browser?.stop();
    provider?.stop();
  });
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
  let host;
  before(async () => {
    tls.setDefaultCACertificates([await readFile(registry.env.SSL_CERT_FILE, "utf8")]);
    host = new URL(registry.url).host;
    browser = await openBrowser();
    const key = await newKey(directory);
    await registry.trusts("acme", key);
    await registry.publishes(release({ address: "acme/hello", version: "1.0.0", key }));
  });

  const tokens = async () => (await registry.admin("GET", "/admin/v1/tokens")).answer.tokens;
  const reads = async (token) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await registry.request("/v1/providers/acme/hello/versions", { headers })).status;
  };

  withEachClient((client) => {
    /** Opens a terminal in which `login` has opened a URL. */
    async function loggingIn(t, config = "") {
      const files = { "main.tf": usingProvider(`${host}/acme/hello`, "1.0.0") };
      // If a variable sets the configuration file, clients do not read the credentials that they have stored.
      const env = { SSL_CERT_FILE: registry.env.SSL_CERT_FILE, TF_CLI_CONFIG_FILE: undefined };
      const work = await client.workspace(t, registry, files, { env });
      for (const name of [".terraformrc", ".tofurc"]) await writeFile(join(work.env.HOME, name), config);
      // Terraform does not create this directory.
      await mkdir(join(work.env.HOME, ".terraform.d"));
      const terminal = await Terminal.run(t, `${client.name} login ${host}`, work);
      await terminal.shows("Enter a value:");
      terminal.type("yes\r");
      return { work, terminal, url: await terminal.opens() };
    }

    const stored = async (work) => {
      const text = await readFile(join(work.env.HOME, ".terraform.d", "credentials.tfrc.json"), "utf8").catch(() => "{}");
      return JSON.parse(text).credentials?.[host]?.token;
    };

    /** Checks that no token was issued, that the page tells the user how to continue, and that it notifies the terminal. */
    async function endsWithNothing({ work, terminal }, page) {
      const text = await textOf(page);
      assert.match(text, /Or press Ctrl-C in the terminal, or Ctrl-\\ if that has no effect\. Then start again with terraform login 127/);
      await page.click("text=Notify the terminal");
      assert.notEqual(await terminal.end(), 0);
      assert.match(terminal.screen, /invalid_grant.*sign-in was refused or failed: the page in the browser shows the reason/);
      assert.equal(await stored(work), undefined);
    }

    test("after sign-in and consent, the terminal can install private packages, and terrace uses its token (7.1 to 7.7)", async (t) => {
      const { work, terminal, url } = await loggingIn(t);
      await work.fails("init");
      const page = await browser.window();
      await signIn(page, url, "ann");
      const asked = await textOf(page);
      assert.match(asked, /Give your terminal a token\? You are signed in to 127\.0\.0\.1:\d+ as ann@acme\.example/);
      assert.match(asked, /read everything \(read\) publish and read the packages of acme \(publish:acme\)/);
      await page.click(ALLOW);
      const isThere = await page.waitForURL(/^http:\/\/localhost:100\d\d\/login\?/, { waitUntil: "domcontentloaded" }).then(() => true, closedEarly);
      if (isThere) assert.match(await textOf(page), /close this page|return to the terminal/i);
      await terminal.shows("Success!");
      assert.equal(await terminal.end(), 0);
      assert.match(terminal.screen, /(Terraform|OpenTofu) has obtained and saved an API token/);
      const token = await stored(work);
      assert.match(token, /^terrace_/);
      await work.runs("init");
      const asTerrace = await run(cli, ["key", "list", "acme", "--url", registry.url, "--verbose"], { env: withoutTokens(work.env), check: false });
      assert.equal(asTerrace.code, 0, asTerrace.output);
      assert.match(asTerrace.output, /the token for 127\.0\.0\.1:\d+ is that in \S+credentials\.tfrc\.json/);
      assert.ok(!asTerrace.output.includes(token));
      const [known] = (await tokens()).filter(({ id }) => token.includes(id));
      assert.equal(known.name, "ann@acme.example");
      assert.equal(known.created_by, "login as ann");
      assert.deepEqual(known.scopes, ["read", "publish:acme"]);
    });

    test("after a refusal on the registry's page, the terminal stops waiting (7.5)", async (t) => {
      const login = await loggingIn(t);
      const page = await browser.window();
      await signIn(page, login.url, "ann");
      await page.click(REFUSE);
      await page.waitForSelector("text=You refused the request");
      await endsWithNothing(login, page);
    });

    test("after a refusal at the provider, the terminal stops waiting (7.5)", async (t) => {
      const login = await loggingIn(t);
      const page = await browser.window();
      await page.goto(login.url, { waitUntil: "domcontentloaded" });
      await page.click("a:has-text('Cancel')");
      await page.waitForSelector("text=Sign-in was refused");
      assert.match(await textOf(page), /The sign-in provider refused the sign-in: access_denied/);
      await endsWithNothing(login, page);
    });

    test("a person without a matching rule reads their identity and whom to contact", async (t) => {
      for (const [login, name] of [["bob", "bob@acme.example"], ["eve", "eve@acme.example (eve)"]]) {
        const begun = await loggingIn(t);
        const page = await browser.window();
        await signIn(page, begun.url, login);
        const text = await textOf(page);
        assert.ok(text.includes(`You are signed in as ${name}, but no sign-in rule of`), text);
        assert.match(text, /Ask its operator/);
        await endsWithNothing(begun, page);
      }
    });

    test("an expired code yields no token, and the terminal reports why", async (t) => {
      const { work, terminal, url } = await loggingIn(t);
      const asked = new URL(url).searchParams;
      const uri = asked.get("redirect_uri");
      const lines = [uri, asked.get("code_challenge"), "0123456789abcdef", "admin", "ann", "ann"];
      const code = sealed(registry.secrets.adminToken, "code", Math.floor(Date.now() / 1000) - 1, lines);
      const page = await browser.window();
      // The client opens the page a moment before it listens on its address; people take longer than this.
      const listens = async () => (await fetch(new URL("/favicon.ico", uri)).catch(() => null)) !== null;
      for (const deadline = Date.now() + 5_000; !(await listens()) && Date.now() < deadline; ) await sleep(50);
      await page.goto(`${uri}?${new URLSearchParams({ code, state: asked.get("state") })}`);
      assert.notEqual(await terminal.end(), 0);
      assert.match(terminal.screen, /invalid_grant.*this code expired after 60 seconds: sign in again/);
      assert.equal(await stored(work), undefined);
    });

    test("a code used twice revokes the token that it yielded, and the terminal reports it", async (t) => {
      const repeater = await openRepeater(registry.url, dirname(registry.env.SSL_CERT_FILE));
      t.after(repeater.stop);
      const login = { ...registry.services["login.v1"], authz: `${registry.url}/oauth/authorize`, token: repeater.url };
      const services = `"login.v1" = ${JSON.stringify(login).replaceAll('":', '" = ')}`;
      const { work, terminal, url } = await loggingIn(t, `host "${host}" {\n services = {\n ${services}\n }\n}\n`);
      const page = await browser.window();
      await signIn(page, url, "ann");
      await page.click(ALLOW);
      assert.notEqual(await terminal.end(), 0);
      assert.match(terminal.screen, /invalid_grant.*this code was already used, so its token is revoked/);
      assert.equal(await stored(work), undefined);
      const [first, second] = repeater.answers;
      assert.deepEqual([first.status, second.status], [200, 400]);
      const deadline = Date.now() + 60_000;
      while ((await reads(first.json.access_token)) === 200) {
        assert.ok(Date.now() < deadline, "the token is still accepted after a minute");
        await sleep(500);
      }
      assert.equal(await reads(first.json.access_token), 401);
    });
  });

  describe("without a terminal", () => {
    const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
    const opened = (changed = {}) => {
      const parts = { client_id: "terraform-cli", code_challenge: challenge, code_challenge_method: "S256" };
      Object.assign(parts, { redirect_uri: "http://localhost:10005/login", response_type: "code", state: "a-state" }, changed);
      return `${registry.url}/oauth/authorize?${new URLSearchParams(parts)}`;
    };

    test("a state of another browser, or a forged one, is rejected", async () => {
      const page = await browser.window();
      let callback;
      page.on("request", (request) => {
        if (request.url().includes("/oauth/callback?")) callback = request.url();
      });
      await signIn(page, opened(), "ann");
      const other = await browser.window();
      for (const url of [callback, callback.replace(/state=[^&]+/, "state=x"), `${registry.url}/oauth/callback`]) {
        const response = await other.goto(url);
        assert.equal(response.status(), 400);
        assert.match(await textOf(other), /This sign-in cannot continue.*not started in this browser/);
      }
      // In its own browser the state is accepted, and the provider does not accept its code twice.
      assert.equal((await page.goto(callback)).status(), 502);
      assert.match(await textOf(page), /Sign-in has failed/);
    });

    test("requests that no terminal sends are rejected", async () => {
      const page = await browser.window();
      for (const uri of ["https://evil.example/login", "http://localhost:10005/other", "http://127.0.0.1:10005/login"]) {
        const response = await page.goto(opened({ redirect_uri: uri }));
        assert.equal(response.status(), 400);
        assert.equal(new URL(page.url()).host, host);
        assert.match(await textOf(page), /its parameter redirect_uri must be http:\/\/localhost:<port>\/login/);
      }
    });

    test("another site can neither frame the page nor submit its form", async () => {
      const page = await browser.window();
      await signIn(page, opened(), "ann");
      const refusals = [];
      const framing = await page.context().newPage();
      framing.on("console", (message) => refusals.push(message.text()));
      await framing.goto(`${registry.url}/healthz`);
      await framing.setContent(`<iframe src="${opened({ state: "" })}"></iframe>`);
      await framing.waitForTimeout(500);
      assert.match(refusals.join("\n"), /frame|X-Frame-Options/i);
      const consent = await page.inputValue("input[name=consent]");
      const foreign = await browser.window();
      await foreign.goto(`${provider.issuer}/.well-known/openid-configuration`);
      const form = `<form method=post action="${registry.url}/oauth/consent"><input name=consent value="${consent}">`;
      await foreign.setContent(`${form}<button name=answer value=allow>x</button></form>`);
      await foreign.click("button");
      await foreign.waitForSelector("text=This sign-in cannot continue");
    });

    test("the page is readable on a phone, in the light and the dark scheme", async () => {
      const colors = [];
      for (const colorScheme of ["light", "dark"]) {
        const page = await browser.window({ colorScheme, viewport: { width: 360, height: 640 } });
        const problems = [];
        page.on("console", (message) => problems.push(message.text()));
        await signIn(page, opened(), "ann");
        const seen = await page.evaluate(() => ({
          width: document.documentElement.scrollWidth,
          color: getComputedStyle(document.body).color,
          margin: getComputedStyle(document.body).paddingTop,
        }));
        assert.ok(seen.width <= 360, `${seen.width} pixels wide`);
        assert.equal(seen.margin, "34px", "its style was not taken");
        colors.push(seen.color);
        const own = problems.filter((text) => /Content Security Policy/.test(text) && !text.includes(provider.issuer));
        assert.deepEqual(own, []);
        if (process.env.TERRACE_TEST_PICTURES) await page.screenshot({ path: join(process.env.TERRACE_TEST_PICTURES, `${colorScheme}.png`) });
      }
      assert.notEqual(colors[0], colors[1]);
    });
  });
});
