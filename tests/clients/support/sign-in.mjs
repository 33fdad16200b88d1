// The environment of a sign-in: an OpenID Connect provider with accounts, a browser, and a terminal.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { until } from "../../../scripts/lib/wait.mjs";
import { find, unlessOnPath } from "./programs.mjs";
import { serveTls } from "./tls-server.mjs";

const PATIENCE_MS = 30_000;

const CLIENT_ID = "terrace";

/** The `skip` option of a test that needs all of it: false, or the reason why it is skipped. */
export function unlessSignInWorks() {
  if (process.platform !== "linux") return "the tests' terminals and CA work only on Linux";
  // It creates terminals.
  return unlessOnPath("script") || unlessOnPath("chromium");
}

/**
 * Starts a provider at https://localhost, for the registry at `registryUrl`. It accepts any account with any
 * password; `people` has more claims than the address for some of them.
 */
export async function openProvider(registryUrl, directory, people = {}) {
  const { default: OidcProvider } = await quietly(() => import("oidc-provider"));
  let answer;
  const { port, ca, stop } = await serveTls(directory, (...args) => answer(...args));
  const issuer = `https://localhost:${port}`;
  const secret = randomBytes(24).toString("base64url");
  const provider = await quietly(() => new OidcProvider(issuer, settings(registryUrl, secret, people)));
  answer = provider.callback();
  return {
    ca,
    issuer,
    vars: { TERRACE_LOGIN_ISSUER: issuer, TERRACE_LOGIN_CLIENT_ID: CLIENT_ID, TERRACE_LOGIN_CLIENT_SECRET: secret },
    stop,
  };
}

function settings(registryUrl, secret, people) {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const claims = (login) => ({ sub: login, email: `${login}@acme.example`, email_verified: true, ...people[login] });
  return {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: secret,
        redirect_uris: [`${registryUrl}/oauth/callback`],
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
    ],
    claims: { email: ["email", "email_verified"], groups: ["groups"], openid: ["sub"], profile: ["name"] },
    // Most providers include the claims about the person in the ID token.
    conformIdTokenClaims: false,
    cookies: { keys: [randomBytes(16).toString("hex")] },
    findAccount: (_, login) => ({ accountId: login, claims: () => claims(login) }),
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), alg: "RS256", kid: "1", use: "sig" }] },
    pkce: { required: () => true },
    // Without these settings it prints a notice for each.
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
  };
}

/** Suppresses its notices about being a demonstration. */
async function quietly(action) {
  const { info, warn } = console;
  Object.assign(console, { info: () => {}, warn: () => {} });
  try {
    return await action();
  } finally {
    Object.assign(console, { info, warn });
  }
}

/** Opens a browser that connects only to this machine. */
export async function openBrowser() {
  const { chromium } = await import("playwright-core");
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
  args.push("--disable-component-update", "--disable-sync", "--no-proxy-server");
  const browser = await chromium.launch({ executablePath: find("chromium"), args, timeout: PATIENCE_MS });
  return {
    stop: () => browser.close(),
    /** Opens a window of a new person, without cookies. */
    window: async (options = {}) => {
      const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
      context.setDefaultTimeout(PATIENCE_MS);
      await context.route((url) => !["127.0.0.1", "localhost"].includes(url.hostname), (route) => route.abort());
      return context.newPage();
    },
  };
}

const isCallback = ({ pathname }) => pathname === "/oauth/callback";

/** Signs in at the provider, up to the registry's own page. */
export async function signIn(page, url, login, isThere = isCallback) {
  await page.goto(url, { waitUntil: "domcontentloaded" });
  await page.fill("input[name=login]", login);
  await page.fill("input[name=password]", "any");
  await page.click("button[type=submit]");
  await page.click("button[type=submit]:has-text('Continue')");
  await page.waitForURL(isThere, { waitUntil: "domcontentloaded" });
}

/** Returns the text of a page. */
export const textOf = async (page) => (await page.innerText("body")).replace(/\s+/g, " ");

/** A command in a terminal, which records the URL to open instead of opening a browser. */
export class Terminal {
  #child;
  #said = "";

  /** Runs a command; `env` and `directory` are those of a workspace. */
  static async run(t, command, { env, directory }) {
    const bin = join(env.HOME, "bin");
    const opened = join(env.HOME, "opened");
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, "xdg-open"), `#!/bin/sh\necho "$1" > '${opened}.part' && mv '${opened}.part' '${opened}'\n`);
    await chmod(join(bin, "xdg-open"), 0o755);
    const terminal = new Terminal();
    terminal.opened = opened;
    const options = { cwd: directory, env: { ...env, PATH: `${bin}:${env.PATH}`, TERM: "dumb" } };
    terminal.#child = spawn("script", ["-qec", command, "/dev/null"], options);
    terminal.#child.stdout.on("data", (bytes) => (terminal.#said += bytes));
    terminal.ended = once(terminal.#child, "close").then(([code]) => code);
    t.after(() => terminal.#child.kill("SIGKILL"));
    return terminal;
  }

  /** The complete output of the terminal. */
  get screen() {
    // eslint-disable-next-line no-control-regex
    return this.#said.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "").replace(/[│╷╵]/g, " ").replace(/\s+/g, " ");
  }

  type(text) {
    this.#child.stdin.write(text);
  }

  /** Waits until this text is on the screen. */
  async shows(what) {
    assert.ok(await until(() => this.screen.includes(what)), `the terminal does not show ${JSON.stringify(what)}: ${this.screen}`);
  }

  /** Returns the URL that the command opens in a browser. */
  async opens() {
    const url = await until(async () => (await readFile(this.opened, "utf8")).trim());
    assert.ok(url, `no URL was opened: ${this.screen}`);
    return url;
  }

  /** Waits until the command has ended. Returns its status. */
  async end() {
    const ended = await Promise.race([this.ended, sleep(PATIENCE_MS, "not yet", { ref: false })]);
    assert.notEqual(ended, "not yet", `the command does not end: ${this.screen}`);
    return ended;
  }
}
