// Somebody who signs in: a provider of OpenID Connect that knows them, their browser, and their terminal.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHmac, generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { BROWSERS } from "../../../scripts/lib/browser.mjs";
import { ensureCertificates } from "../../../scripts/lib/tls.mjs";
import { isOnPath, whyAbsent } from "./programs.mjs";

const PATIENCE_MS = 30_000;

const CLIENT_ID = "terrace";
const browserName = BROWSERS.find(isOnPath);

/** The `skip` option of a test that needs all of it: false, or why it is skipped. */
export function unlessSignInWorks() {
  if (process.platform !== "linux") return "terminals and trust in a CA are those of Linux";
  if (!isOnPath("script")) return "script, which makes terminals, is not on PATH";
  return browserName ? false : whyAbsent("chromium");
}

/**
 * Opens a provider at https://localhost, for the registry at `registryUrl`. It knows everybody, by any password:
 * `people` says more than their address of some.
 */
export async function openProvider(registryUrl, directory, people = {}) {
  const { default: OidcProvider } = await quietly(() => import("oidc-provider"));
  const { key, cert, ca } = await ensureCertificates(directory);
  let answer;
  const server = createServer({ key: await readFile(key), cert: await readFile(cert) }, (...args) => answer(...args));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `https://localhost:${server.address().port}`;
  const secret = randomBytes(24).toString("base64url");
  const provider = await quietly(() => new OidcProvider(issuer, settings(registryUrl, secret, people)));
  answer = provider.callback();
  return {
    ca,
    issuer,
    vars: { TERRACE_LOGIN_ISSUER: issuer, TERRACE_LOGIN_CLIENT_ID: CLIENT_ID, TERRACE_LOGIN_CLIENT_SECRET: secret },
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
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
    // What most providers do: tell who somebody is in the ID token.
    conformIdTokenClaims: false,
    cookies: { keys: [randomBytes(16).toString("hex")] },
    findAccount: (_, login) => ({ accountId: login, claims: () => claims(login) }),
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), alg: "RS256", kid: "1", use: "sig" }] },
    pkce: { required: () => true },
    // Without these it says so for each.
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
  };
}

/** It has much to say about its being a demonstration. */
async function quietly(action) {
  const { info, warn } = console;
  Object.assign(console, { info: () => {}, warn: () => {} });
  try {
    return await action();
  } finally {
    Object.assign(console, { info, warn });
  }
}

/** Opens a browser that asks nobody but this machine. */
export async function openBrowser() {
  const { chromium } = await import("playwright-core");
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
  args.push("--disable-component-update", "--disable-sync", "--no-proxy-server");
  const browser = await chromium.launch({ executablePath: pathOf(browserName), args, timeout: PATIENCE_MS });
  return {
    stop: () => browser.close(),
    /** A new window of somebody else, who has no cookies yet. */
    window: async (options = {}) => {
      const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
      context.setDefaultTimeout(PATIENCE_MS);
      await context.route((url) => !["127.0.0.1", "localhost"].includes(url.hostname), (route) => route.abort());
      return context.newPage();
    },
  };
}

const pathOf = (name) => process.env.PATH.split(":").map((directory) => join(directory, name)).find((file) => existsSync(file));

/** Signs in at the provider as somebody, as far as the registry's own page. */
export async function signIn(page, url, login) {
  await page.goto(url, { waitUntil: "domcontentloaded" });
  await page.fill("input[name=login]", login);
  await page.fill("input[name=password]", "any");
  await page.click("button[type=submit]");
  await page.click("button[type=submit]:has-text('Continue')");
  await page.waitForURL((it) => it.pathname === "/oauth/callback", { waitUntil: "domcontentloaded" });
}

/** What somebody reads on a page. */
export const textOf = async (page) => (await page.innerText("body")).replace(/\s+/g, " ");

/** A command in a terminal of its own, which opens no browser but tells what it would have opened. */
export class Terminal {
  #child;
  #said = "";

  /** `env` and `directory` as of a workspace. */
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

  /** Everything that was on the screen. */
  get screen() {
    // eslint-disable-next-line no-control-regex
    return this.#said.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "").replace(/[│╷╵]/g, " ").replace(/\s+/g, " ");
  }

  type(text) {
    this.#child.stdin.write(text);
  }

  /** Waits until this is on the screen. */
  async shows(what) {
    await until(() => this.screen.includes(what), () => `the terminal does not show ${JSON.stringify(what)}: ${this.screen}`);
  }

  /** The URL that the command opens in a browser. */
  async opens() {
    let url;
    await until(
      async () => (url = (await readFile(this.opened, "utf8").catch(() => "")).trim()),
      () => `nothing is opened: ${this.screen}`,
    );
    return url;
  }

  /** Waits until the command has ended. Returns its status. */
  async end() {
    const ended = await Promise.race([this.ended, sleep(PATIENCE_MS, "not yet", { ref: false })]);
    assert.notEqual(ended, "not yet", `it does not end: ${this.screen}`);
    return ended;
  }
}

async function until(isSo, told) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await isSo())) {
    assert.ok(Date.now() < deadline, told());
    await sleep(50);
  }
}

/** A text as the registry seals it: so that one can be of yesterday. `expires` is in seconds since 1970. */
export function sealed(adminToken, purpose, expires, lines) {
  const key = createHmac("sha256", adminToken).update("terrace sign-in 1").digest();
  const fields = Buffer.from([expires, ...lines].join("\n")).toString("base64url");
  const mac = createHmac("sha256", key).update(`${purpose}\n${fields}`).digest("base64url");
  return `${fields}.${mac}`;
}

/**
 * Opens a door in front of the registry's token endpoint that takes what a terminal sends there to the registry twice,
 * and brings back the second answer: what somebody does who repeats a code. `answers` holds both.
 */
export async function openRepeater(registryUrl, directory) {
  const { key, cert, ca } = await ensureCertificates(directory);
  const answers = [];
  const server = createServer({ key: await readFile(key), cert: await readFile(cert) }, async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request));
    const headers = { "content-type": request.headers["content-type"] };
    for (const _ of [1, 2]) {
      const answer = await fetch(`${registryUrl}/oauth/token`, { method: "POST", headers, body });
      answers.push({ status: answer.status, json: await answer.json() });
    }
    response.writeHead(answers[1].status, { "content-type": "application/json" });
    response.end(JSON.stringify(answers[1].json));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = () => (server.closeAllConnections(), server.close());
  return { ca, answers, stop, url: `https://127.0.0.1:${server.address().port}/token` };
}
