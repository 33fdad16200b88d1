// `login`, end to end: the real clients in a terminal, a real browser, and an independent provider.
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { cli } from "../../../scripts/build.mjs";
import { run } from "../../../scripts/lib/run.mjs";
import { freePort } from "../../../scripts/server.mjs";
import { usingProvider, withEachClient } from "../support/client.mjs";
import { useRegistry } from "../support/registry.mjs";
import { provider as release } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { openBrowser, openProvider, signIn, Terminal, textOf, unlessSignInWorks } from "../support/sign-in.mjs";
import { after, before, describe, test } from "../support/testing.mjs";

const skip = unlessSignInWorks();

const RULES = [
  { scopes: ["read"], claims: { email: "*@acme.example", groups: "staff" } },
  { scopes: ["publish:acme"], claims: { groups: "platform" } },
];
const PEOPLE = { ann: { groups: ["staff", "platform"] } };

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
    host = registry.host;
    browser = await openBrowser();
    const key = await registry.trusts("acme");
    await registry.publishes(release({ address: "acme/hello", version: "1.0.0", key }));
  });
  withEachClient((client) => {
    /** Opens a terminal in which `login` has opened a URL. */
    async function loggingIn(t) {
      const files = { "main.tf": usingProvider(`${host}/acme/hello`, "1.0.0") };
      // If a variable sets the configuration file, clients do not read the credentials that they have stored.
      const work = await client.workspace(t, registry, files, { env: { TF_CLI_CONFIG_FILE: undefined } });
      for (const name of [".terraformrc", ".tofurc"]) await writeFile(join(work.env.HOME, name), "");
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
      const [known] = (await registry.admin("GET", "/admin/v1/tokens")).answer.tokens.filter(({ id }) => token.includes(id));
      assert.equal(known.name, "ann@acme.example");
      assert.equal(known.created_by, "login as ann");
      assert.deepEqual(known.scopes, ["read", "publish:acme"]);
    });

    test("after a refusal on the registry's page, the terminal stops waiting (7.5)", async (t) => {
      const { work, terminal, url } = await loggingIn(t);
      const page = await browser.window();
      await signIn(page, url, "ann");
      await page.click(REFUSE);
      await page.waitForSelector("text=You refused the request");
      assert.match(await textOf(page), /Or press Ctrl-C in the terminal, or Ctrl-\\ if that has no effect\. Then start again with terraform login 127/);
      await page.click("text=Notify the terminal");
      assert.notEqual(await terminal.end(), 0);
      assert.match(terminal.screen, /invalid_grant.*sign-in was refused or failed: the page in the browser shows the reason/);
      assert.equal(await stored(work), undefined);
    });
  });
});
