// Signing in to a private registry in a real browser, and the pages around it.
import assert from "node:assert/strict";
import { join } from "node:path";

import { freePort } from "../../../scripts/server.mjs";
import { unlessBrowser, useBrowser, violations } from "../support/browser.mjs";
import { useRegistry } from "../support/registry.mjs";
import { module, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { openProvider, signIn, textOf } from "../support/sign-in.mjs";
import { after, before, describe, test } from "../support/testing.mjs";

const skip = process.platform === "linux" ? unlessBrowser() : "the tests' CA works only on Linux";

const RULES = [
  { scopes: ["read:acme"], claims: { groups: "staff" } },
  { scopes: ["admin"], claims: { groups: "operators" } },
];
const PEOPLE = { ann: { groups: ["staff"] }, bob: { groups: ["guests"] }, eve: { groups: ["operators"] } };

/** Rules that also trust pull requests from forks, one with a long name, so that pages show administrators a notice. */
const PUBLISHERS = ["acme/widget", `acme/${"terraform-provider-".repeat(4)}widget`].map((repository) => ({
  scopes: ["publish:acme"],
  issuer: "https://token.actions.githubusercontent.com",
  claims: { repository },
}));

const MODULE = "/modules/acme/vpc/aws/1.0.0";

describe("signing in with a browser", { skip }, () => {
  const directory = scratch();
  let provider;
  after(() => provider?.stop());
  const registry = useRegistry(async () => {
    const port = await freePort();
    provider = await openProvider(`https://127.0.0.1:${port}`, join(directory, "provider"), PEOPLE);
    const rules = { TERRACE_LOGIN_RULES: JSON.stringify(RULES), TERRACE_TRUSTED_PUBLISHERS: JSON.stringify(PUBLISHERS) };
    const vars = { ...provider.vars, ...rules, TERRACE_ACCESS: "private", TERRACE_LOGIN_SCOPES: "openid email groups" };
    return { https: true, port, trusts: provider.ca, vars };
  });
  const browser = useBrowser();
  let origin;
  before(async () => {
    ({ origin } = new URL(registry.url));
    for (const namespace of ["acme", "globex"]) {
      await registry.publishes(module({ address: `${namespace}/vpc/aws`, version: "1.0.0", files: saying("hello") }));
    }
  });

  const isHere = (url) => url.origin === origin;

  /** Opens a page in a window of a new person, who then signs in at the provider. */
  async function signedIn(path, login = "ann", options = {}) {
    const page = await browser.window(options);
    await signIn(page, origin + path, login, isHere);
    await page.waitForLoadState();
    return page;
  }

  async function opens(page, path) {
    const response = await page.goto(origin + path, { waitUntil: "load" });
    return { status: response.status(), html: await response.text() };
  }

  /** Ends the session with the button of the page. */
  async function signOut(page) {
    await page.click("button:has-text('Sign out')");
    await page.waitForURL(`${origin}/sign-out`);
  }

  test("leads to the page asked for, with its query, and keeps the reader signed in", async () => {
    const page = await signedIn(`${MODULE}?ref=mail`);
    assert.equal(page.url(), `${origin}${MODULE}?ref=mail`);
    assert.match(await page.innerText("h1"), /vpc/);
    assert.equal((await opens(page, "/")).status, 200);
    assert.ok(await page.isVisible("button:has-text('Sign out')"));
    const cookie = (await page.context().cookies(origin)).find(({ name }) => name === "__Host-terrace");
    assert.deepEqual([cookie.httpOnly, cookie.secure, cookie.sameSite], [true, true, "Lax"]);
    assert.equal(await page.evaluate(() => document.cookie), "");
  });

  test("ends with the button of a page, after which the provider is asked again", async () => {
    const page = await signedIn(MODULE);
    await signOut(page);
    assert.match(await textOf(page), /You are signed out/);
    assert.deepEqual((await page.context().cookies(origin)).filter(({ name }) => name === "__Host-terrace"), []);
    // This person is still signed in at the provider, which may send them back at once.
    const asked = page.waitForRequest((request) => request.url().startsWith(provider.issuer));
    await page.goto(origin + MODULE, { waitUntil: "load" });
    await asked;
  });

  async function looksRight(page, shows) {
    assert.match(await textOf(page), shows);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), 0, page.url());
    assert.deepEqual(await violations(page), [], page.url());
  }

  // Schemes change colours only, and widths the layout only, so the other two windows break no further rule.
  for (const [scheme, width] of [["light", 360], ["dark", 1280]]) {
    test(`an administrator sees the settings to correct in a ${scheme} window of ${width} pixels, and no other reader does`, async () => {
      const options = { viewport: { width, height: 800 }, colorScheme: scheme };
      const page = await signedIn(MODULE, "eve", options);
      await looksRight(page, /2 settings of this registry should be corrected\. Only administrators see this\./);
      assert.doesNotMatch(await page.innerText("body"), /TERRACE_TRUSTED_PUBLISHERS/, "it is closed");
      await page.press("aside.problems summary", "Enter");
      await looksRight(page, /TERRACE_TRUSTED_PUBLISHERS rule 1 also trusts .*\(R3\).*terrace doctor https:/s);
      const other = await signedIn(MODULE, "ann", options);
      assert.equal(await other.locator("aside.problems").count(), 0);
    });

    test(`its pages fit a ${scheme} window of ${width} pixels, and break no rule of accessibility`, async () => {
      const options = { viewport: { width, height: 800 }, colorScheme: scheme };
      const refused = await signedIn(MODULE, "bob", options);
      await looksRight(refused, /no sign-in rule/);
      const page = await signedIn(MODULE, "ann", options);
      await looksRight(page, /Sign out/);
      await opens(page, "/modules/acme/nothing/aws");
      await looksRight(page, /This page does not exist.*/);
      await opens(page, "/modules/ACME!/vpc/aws");
      await looksRight(page, /may contain only letters/);
      await signOut(page);
      await looksRight(page, /You are signed out/);
      await opens(page, "/nothing/at/all/here");
      await looksRight(page, /Sign in/);
    });
  }
});
