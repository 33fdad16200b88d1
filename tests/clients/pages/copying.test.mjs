// The texts that readers copy from pages, pasted into real clients.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";

import { cliDir } from "../../../scripts/build.mjs";
import { unlessBrowser, useBrowser, useVisitor } from "../support/browser.mjs";
import { MODULE, PROVIDER, publishCatalogue } from "../support/catalogue.mjs";
import { withEachClient } from "../support/client.mjs";
import { runs } from "../support/programs.mjs";
import { registryOf, useRegistry } from "../support/registry.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, describe, test } from "../support/testing.mjs";

/** Clients find the registry by discovery, over TLS; Go reads SSL_CERT_FILE on Linux only. */
const skip = process.platform === "linux" ? unlessBrowser() : "SSL_CERT_FILE works on Linux only";

const DOCUMENT = `/providers/${PROVIDER}/1.1.0/docs/resources/part`;

const READER = { permissions: ["clipboard-read", "clipboard-write"] };

describe("a copied text", { skip }, () => {
  const registry = useRegistry({ https: true });
  const directory = scratch();
  const browser = useBrowser();
  const visitor = useVisitor(browser, registry);
  before(async () => {
    await publishCatalogue(registry, directory);
  }, "publishing");

  /** Opens a page, and selects a way to install. */
  async function opened(path, way = "Registry", visits = visitor) {
    const page = await visits(path, READER);
    if (await page.locator(".tabs").count()) await page.locator(".tabs > label", { hasText: new RegExp(`^${way}$`) }).click();
    return page;
  }

  test("is the text beside each button, and the button says so", async () => {
    for (const path of [`/providers/${PROVIDER}/1.1.0`, DOCUMENT, `/modules/${MODULE}/1.2.0`, `/modules/${MODULE}/1.2.0/examples/simple`]) {
      const page = await opened(path);
      const buttons = await page.locator("button.copy:visible").all();
      assert.ok(buttons.length > 0, path);
      for (const button of buttons) {
        const text = await button.evaluate((it) => it.parentElement.querySelector("code").textContent);
        assert.ok(text.length > 0);
        await page.evaluate(() => navigator.clipboard.writeText("before"));
        await button.click();
        await page.waitForFunction(() => document.getElementById("page-live").textContent === "Copied");
        assert.equal(await clipboard(page), text, path);
        assert.equal(await button.textContent(), "Copied");
      }
      assert.deepEqual(page.problems, []);
    }
  });

  test("has no button without JavaScript", async () => {
    const page = await visitor(`/modules/${MODULE}/1.2.0`, { javaScriptEnabled: false });
    assert.ok((await page.locator("button.copy").count()) > 0);
    assert.equal(await page.locator("button.copy:visible").count(), 0);
  });

  withEachClient((client) => {
    const isTofu = client.name === "tofu";

    /** Runs `init` with the pasted texts. */
    async function installs(t, texts, config = "", from = registry) {
      const work = await client.workspace(t, from, { "main.tf": texts }, { config });
      const { said } = await work.runs("init");
      return { said, work };
    }

    test("of a provider installs it", async (t) => {
      const newest = await opened(`/providers/${PROVIDER}/1.1.0`);
      assert.match((await installs(t, await copied(newest, "the provider requirement"))).said, /Installed \S+\/acme\/widget v1\.1\.0/);
      const older = await opened(`/providers/${PROVIDER}/1.0.0`);
      assert.match((await installs(t, await copied(older, "the provider requirement"))).said, /Installed \S+\/acme\/widget v1\.0\.0/);
    });

    // The name of this registry has a port, and Terraform asks no mirror for providers of such a name.
    const MIRRORED = `/mirrored/origin.example/${PROVIDER}/1.0.0`;

    test("of a mirrored provider installs it from the network mirror", async (t) => {
      const page = await opened(MIRRORED, "Network mirror");
      const { said } = await installs(t, await copied(page, "main.tf"), await copied(page, "~/.terraformrc or ~/.tofurc"));
      assert.match(said, /Installed origin\.example\/acme\/widget v1\.0\.0/);
    });

    test("of a mirrored provider installs it from the OCI mirror", { skip: !isTofu && "only OpenTofu reads from OCI" }, async (t) => {
      const page = await opened(MIRRORED, "OCI mirror");
      const { said } = await installs(t, await copied(page, "main.tf"), await copied(page, "~/.tofurc"));
      assert.match(said, /Installed origin\.example\/acme\/widget v1\.0\.0/);
    });

    test("of a module installs it with its required inputs, and the configuration is valid", async (t) => {
      for (const version of ["1.2.0", "1.0.0"]) {
        const { said, work } = await installs(t, await copied(await opened(`/modules/${MODULE}/${version}`), "the module call"));
        assert.ok(said.includes(`${MODULE} ${version}`), said);
        await work.runs("validate");
      }
    });

    test("of a submodule installs it", async (t) => {
      const { work } = await installs(t, await copied(await opened(`/modules/${MODULE}/1.2.0/submodules/endpoints`), "the module call"));
      await work.runs("validate");
    });

    test("of the first steps publishes a module and installs it", async (t) => {
      const empty = await registryOf(t, { https: true });
      const page = await opened("/", "", useVisitor(browser, empty));
      const home = scratch(t);
      await mkdir(join(home, "vpc"));
      await writeFile(join(home, "vpc", "main.tf"), 'output "id" {\n  value = "vpc"\n}\n');
      const env = { ...process.env, ...empty.env, TERRACE_URL: undefined, PATH: `${cliDir}${delimiter}${process.env.PATH}` };
      await runs("sh", ["-ec", await copied(page, "the commands that publish")], { cwd: home, env });
      const { said } = await installs(t, await copied(page, "the module call"), "", empty);
      assert.match(said, /acme\/vpc\/aws 1\.0\.0/);
    });
  });
});

/** Returns the text that the visible button for `name` copies. */
async function copied(page, name) {
  await page.evaluate(() => navigator.clipboard.writeText("before"));
  await page.locator(`.tabs .panel:visible button[aria-label="Copy ${name}"], .steps button[aria-label="Copy ${name}"]`).first().click();
  await page.waitForFunction(() => document.getElementById("page-live").textContent === "Copied");
  const text = await clipboard(page);
  assert.notEqual(text, "before");
  return text;
}

const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());
