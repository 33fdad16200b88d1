// Every client over TLS, where it finds the registry by discovery alone: installations by each protocol, with lock files and
// tokens. `npm run compatibility -- DIR` names the clients and collects the outcomes for the table of docs/compatibility.md.
// Otherwise they are the installed ones, and Terraform 1.5.7, whose OpenPGP library does not support Ed25519 keys.
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { freePort } from "../../scripts/server.mjs";
import { OLD_TERRAFORM } from "../../scripts/lib/clients.mjs";
import { applies, CHECKS, parseClient } from "../../scripts/lib/compatibility.mjs";
import { Client, HOST, hostBlock, networkMirror, ociMirror, onlyLinux, usingModule, usingProvider } from "../clients/support/client.mjs";
import { find, runs, unlessOnPath } from "../clients/support/programs.mjs";
import { useRegistry } from "../clients/support/registry.mjs";
import { ELSEWHERE, HERE, module, provider, saying } from "../clients/support/releases.mjs";
import { scratch } from "../clients/support/scratch.mjs";
import { openBrowser, openProvider, signIn, Terminal, unlessSignInWorks } from "../clients/support/sign-in.mjs";
import { newKey, RSA } from "../clients/support/signing.mjs";
import { after, before, describe, test } from "../clients/support/testing.mjs";
import { createToken } from "../clients/support/tokens.mjs";

const { clients, outcomes } = JSON.parse(process.env.TERRACE_COMPATIBILITY ?? "null") ?? { clients: await installed() };

const RULES = [{ scopes: ["read"], claims: { email: "*@acme.example" } }];

/** The address of packages in a network or OCI mirror: their hostnames have no port. */
const MIRRORED = "127.0.0.1/rsa/hello";

/** Returns the clients of this machine, and defines a skipped test for each missing one. */
async function installed() {
  const found = [];
  for (const name of ["terraform", "tofu", OLD_TERRAFORM]) {
    const skip = unlessOnPath(name);
    if (skip) test(`${name} does the same`, { skip }, () => {});
    else found.push({ program: find(name), ...parseClient((await runs(find(name), ["version"])).stdout.toString()) });
  }
  return found;
}

describe("clients over TLS", { skip: onlyLinux }, () => {
  const directory = scratch();
  let signInProvider, browser;
  after(async () => {
    await browser?.stop();
    signInProvider?.stop();
  });
  const open = useRegistry({ https: true });
  const closed = useRegistry(async () => {
    const port = await freePort();
    signInProvider = await openProvider(`https://127.0.0.1:${port}`, join(directory, "provider"));
    const vars = { ...signInProvider.vars, TERRACE_ACCESS: "private", TERRACE_LOGIN_RULES: JSON.stringify(RULES) };
    return { https: true, port, trusts: signInProvider.ca, vars };
  });
  let token;

  before(async () => {
    const keys = { rsa: await newKey(RSA), ed25519: await newKey() };
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
    if (outcomes && !unlessSignInWorks()) browser = await openBrowser();
  }, "filling the registries");

  for (const { name, version, program } of clients) {
    describe(`${name} ${version}`, () => {
      const client = new Client(`${name} ${version}`, program);
      const work = (t, registry, files, { config = "", env } = {}) => client.workspace(t, registry, files, { config, env });
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
            if (outcomes) appendFileSync(outcomes, `${JSON.stringify({ name, version, key, outcome })}\n`);
          }
        });
      };

      check("init", async (t) => {
        const found = await work(t, open, packages(open.host));
        await found.runs("init");
        // The provider of the tests does not run, so only modules are applied.
        const { "provider.tf": _, ...modules } = packages(open.host);
        const applied = await work(t, open, modules);
        await applied.runs("init");
        assert.deepEqual(await applied.outputs(), { says: "hello", sub: "sub" });
        if (!hasLockFiles) return;
        await found.remove(".terraform");
        await found.runs("init", "-lockfile=readonly");
      });

      check("lock", async (t) => {
        const found = await work(t, open, { "main.tf": usingProvider(`${open.host}/rsa/hello`, "1.0.0") });
        await found.runs("providers", "lock", `-platform=${HERE}`, `-platform=${ELSEWHERE}`);
        assert.equal((await found.lockedHashes()).h1.length, 2);
        const mirrored = await work(t, open, { "main.tf": usingProvider(MIRRORED, "1.0.0") });
        await mirrored.runs("providers", "lock", `-net-mirror=${open.url}/mirror/`, `-platform=${HERE}`);
      });

      check("mirror", async (t) => {
        const config = networkMirror(open);
        const found = await work(t, open, { "main.tf": usingProvider(MIRRORED, "1.0.0") }, { config });
        await found.runs("init");
        const copied = await work(t, open, { "main.tf": usingProvider(`${open.host}/rsa/hello`, "1.0.0") });
        await copied.runs("providers", "mirror", `-platform=${HERE}`, "copy");
      });

      check("ed25519", async (t) => {
        const found = await work(t, open, { "main.tf": usingProvider(`${open.host}/ed25519/hello`, "1.0.0") });
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
        const files = { "main.tf": usingProvider(`${closed.host}/rsa/hello`, "1.0.0") };
        const found = await work(t, closed, files, { env: { TF_CLI_CONFIG_FILE: undefined } });
        for (const file of [".terraformrc", ".tofurc"]) await writeFile(join(found.env.HOME, file), "");
        // Terraform does not create this directory.
        await mkdir(join(found.env.HOME, ".terraform.d"));
        await found.fails("init");
        const terminal = await Terminal.run(t, `'${program}' login ${closed.host}`, found);
        await terminal.shows("Enter a value:");
        terminal.type("yes\r");
        const page = await browser.window();
        await signIn(page, await terminal.opens(), "ann");
        await page.click("button[value=allow]");
        assert.equal(await terminal.end(), 0, terminal.screen);
        await found.runs("init");
      }, unlessSignInWorks() || (!outcomes && "tests/clients/access/login.test.mjs shows it with more"));

      check("oci", async (t) => {
        const source = `oci://${open.host}/modules/acme/greeting/local?tag=1.0.0`;
        const files = { "provider.tf": usingProvider(MIRRORED, "1.0.0"), "module.tf": usingModule(source) };
        const found = await work(t, open, files, { config: ociMirror(open) });
        await found.runs("init");
        assert.match(await found.read(".terraform/modules/wanted/main.tf"), /hello/);
      });
    });
  }
});
