// Runs each given client against a local registry, for the table of docs/compatibility.md. `npm run compatibility -- DIR` names
// the clients, and collects the outcomes.
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { freePort } from "../../scripts/server.mjs";
import { RSA } from "../clients/support/signing-key.mjs";
import { applies, CHECKS } from "../../scripts/lib/compatibility.mjs";
import { Client, HOST, hostBlock, networkMirror, usingModule, usingProvider } from "../clients/support/client.mjs";
import { inBothModes, useRegistry } from "../clients/support/registry.mjs";
import { ELSEWHERE, HERE, module, provider, saying } from "../clients/support/releases.mjs";
import { scratch } from "../clients/support/scratch.mjs";
import { openBrowser, openProvider, signIn, Terminal, unlessSignInWorks } from "../clients/support/sign-in.mjs";
import { newKey } from "../clients/support/signing.mjs";
import { after, before, describe, test } from "../clients/support/testing.mjs";
import { createToken } from "../clients/support/tokens.mjs";

const { clients, outcomes } = JSON.parse(process.env.TERRACE_COMPATIBILITY ?? '{"clients":[]}');

const RULES = [{ scopes: ["read"], claims: { email: "*@acme.example" } }];

/** The address of packages in a network or OCI mirror: their hostnames have no port. */
const MIRRORED = "127.0.0.1/rsa/hello";

if (clients.length === 0) test("no client was given", { skip: "npm run compatibility names the clients" }, () => {});

inBothModes((mode) => {
  const directory = scratch();
  let signInProvider, browser;
  after(async () => {
    await browser?.stop();
    signInProvider?.stop();
  });
  const open = useRegistry({ mode, https: true });
  const closed = useRegistry(async () => {
    const port = await freePort();
    signInProvider = await openProvider(`https://127.0.0.1:${port}`, join(directory, "provider"));
    const vars = { ...signInProvider.vars, TERRACE_ACCESS: "private", TERRACE_LOGIN_RULES: JSON.stringify(RULES) };
    return { mode, https: true, port, trusts: signInProvider.ca, vars };
  });
  let token;

  before(async () => {
    const keys = { rsa: await newKey(join(directory, "rsa"), RSA), ed25519: await newKey(join(directory, "ed25519")) };
    for (const registry of [open, closed]) {
      for (const [namespace, key] of Object.entries(keys)) {
        await registry.trusts(namespace, key);
        await registry.publishes(provider({ address: `${namespace}/hello`, version: "1.0.0", key }));
      }
      await registry.publishes(
        module({ address: "acme/greeting/local", version: "1.0.0", files: saying("hello") }),
        module({ address: "acme/greeting/local", version: "1.1.0", files: { "sub/main.tf": saying("sub")["main.tf"] } }),
      );
    }
    token = (await createToken(closed, "read")).token;
    if (!unlessSignInWorks()) browser = await openBrowser();
  }, "filling the registries");

  for (const { name, version, program } of clients) {
    describe(`${name} ${version}`, () => {
      const client = new Client(`${name} ${version}`, program);
      const host = (registry) => new URL(registry.url).host;
      const work = (t, registry, files, { config = "", env = {} } = {}) =>
        client.workspace(t, registry, files, { config, env: { SSL_CERT_FILE: registry.env.SSL_CERT_FILE, ...env } });
      const packages = (where) => ({
        "provider.tf": usingProvider(`${where}/rsa/hello`, "1.0.0"),
        "module.tf": usingModule(`${where}/acme/greeting/local`, "1.0.0"),
        "sub.tf": usingModule(`${where}/acme/greeting/local//sub`, "1.1.0").replaceAll("wanted", "sub").replace('"says"', '"sub"'),
      });
      const hasLockFiles = applies("lock", { name, version });

      /** Defines a test whose outcome is recorded; `work` may return "no", for a feature that the client lacks. */
      const check = (key, run, skip = false) => {
        if (!applies(key, { name, version })) return;
        test(CHECKS[key].title, { skip }, async (t) => {
          let outcome = "fails";
          try {
            outcome = (await run(t)) ?? "yes";
          } finally {
            appendFileSync(outcomes, `${JSON.stringify({ name, version, mode, key, outcome })}\n`);
          }
        });
      };

      check("init", async (t) => {
        const found = await work(t, open, packages(host(open)));
        await found.runs("init");
        // The provider of the tests does not run, so only modules are applied.
        const { "provider.tf": _, ...modules } = packages(host(open));
        const applied = await work(t, open, modules);
        await applied.runs("init");
        assert.deepEqual(await applied.outputs(), { says: "hello", sub: "sub" });
        if (!hasLockFiles) return;
        await found.remove(".terraform");
        await found.runs("init", "-lockfile=readonly");
      });

      check("lock", async (t) => {
        const found = await work(t, open, { "main.tf": usingProvider(`${host(open)}/rsa/hello`, "1.0.0") });
        await found.runs("providers", "lock", `-platform=${HERE}`, `-platform=${ELSEWHERE}`);
        assert.equal((await found.lockedHashes()).h1.length, 2);
        const mirrored = await work(t, open, { "main.tf": usingProvider(MIRRORED, "1.0.0") });
        await mirrored.runs("providers", "lock", `-net-mirror=${open.url}/mirror/`, `-platform=${HERE}`);
      });

      check("mirror", async (t) => {
        const config = networkMirror(open);
        const found = await work(t, open, { "main.tf": usingProvider(MIRRORED, "1.0.0") }, { config });
        await found.runs("init");
        const copied = await work(t, open, { "main.tf": usingProvider(`${host(open)}/rsa/hello`, "1.0.0") });
        await copied.runs("providers", "mirror", `-platform=${HERE}`, "copy");
      });

      check("ed25519", async (t) => {
        const found = await work(t, open, { "main.tf": usingProvider(`${host(open)}/ed25519/hello`, "1.0.0") });
        const failure = await found.runs("init").then(() => null, (error) => error.message);
        if (failure === null) return "yes";
        assert.match(failure, /openpgp: unsupported feature: public key type: 22/);
        return "no";
      });

      check("private", async (t) => {
        const config = `${hostBlock(closed)}credentials "${HOST}" {\n  token = "${token}"\n}\n`;
        await (await work(t, closed, packages(HOST), { config })).runs("init");
        await (await work(t, closed, packages(HOST), { config: hostBlock(closed) })).fails("init");
      });

      check("variable", async (t) => {
        const env = { [`TF_TOKEN_${HOST.replaceAll(".", "_")}`]: token };
        const found = await work(t, closed, packages(HOST), { config: hostBlock(closed), env });
        const failure = await found.runs("init").then(() => null, (error) => error.message);
        if (failure === null) return "yes";
        assert.match(failure, /authentication credentials|401/);
        return "no";
      });

      check("login", async (t) => {
        // If a variable sets the configuration file, clients do not read the credentials that they have stored.
        const files = { "main.tf": usingProvider(`${host(closed)}/rsa/hello`, "1.0.0") };
        const found = await work(t, closed, files, { env: { TF_CLI_CONFIG_FILE: undefined } });
        for (const file of [".terraformrc", ".tofurc"]) await writeFile(join(found.env.HOME, file), "");
        // Terraform does not create this directory.
        await mkdir(join(found.env.HOME, ".terraform.d"));
        await found.fails("init");
        const terminal = await Terminal.run(t, `'${program}' login ${host(closed)}`, found);
        await terminal.shows("Enter a value:");
        terminal.type("yes\r");
        const page = await browser.window();
        await signIn(page, await terminal.opens(), "ann");
        await page.click("button[value=allow]");
        assert.equal(await terminal.end(), 0, terminal.screen);
        await found.runs("init");
      }, unlessSignInWorks());

      check("oci", async (t) => {
        const template = `${host(open)}/providers/$\{hostname}/$\{namespace}/$\{type}`;
        const config = `provider_installation {\n  oci_mirror {\n    repository_template = "${template}"\n    include = ["*/*/*"]\n  }\n}\n`;
        const source = `oci://${host(open)}/modules/acme/greeting/local?tag=1.0.0`;
        const files = { "provider.tf": usingProvider(MIRRORED, "1.0.0"), "module.tf": usingModule(source).replace(/ {2}version.*\n/, "") };
        const found = await work(t, open, files, { config });
        await found.runs("init");
        assert.match(await found.read(".terraform/modules/wanted/main.tf"), /hello/);
      });
    });
  }
});
