// `npm run pages`: renews the pictures of the pages in docs/images, light and dark, of a registry with the packages of the tests.
// `-- --serve` runs that registry until Ctrl-C instead.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { buildCli } from "./build.mjs";
import { Cleanup, temporaryDirectory } from "./lib/cleanup.mjs";
import { CLIENTS } from "./lib/clients.mjs";
import { endTogether, endWithParent } from "./lib/lifetime.mjs";
import { ensureNpmPackages } from "./lib/npm.mjs";
import { root } from "./lib/paths.mjs";
import { main, say, step } from "./lib/step.mjs";
import { startNativeServer } from "./native-server.mjs";

/** The hostname in the pictures. The browser finds the local registry there. */
const HOSTNAME = "registry.example.com";

endWithParent();
await main(async () => {
  await ensureNpmPackages();
  await buildCli();
  const cleanup = new Cleanup();
  // Imported only now, because it needs npm packages.
  const { PAGES, publishCatalogue } = await import("../tests/clients/support/catalogue.mjs");
  const { Registry } = await import("../tests/clients/support/registry.mjs");
  try {
    const registry = Object.assign(new Registry(), await startNativeServer(cleanup));
    await step("publishing packages for the pages", () => publishCatalogue(registry, temporaryDirectory(cleanup)));
    if (!process.argv.includes("--serve")) return await takePictures(cleanup, registry, PAGES["a module"]);
    endTogether(registry, cleanup);
    for (const { path } of Object.values(PAGES)) say(`  ${new URL(path, registry.url)}`);
    await registry.ended;
  } finally {
    await cleanup.run();
  }
});

/** Writes `docs/images/page-module-{light,dark}.webp`. */
async function takePictures(cleanup, registry, { path }) {
  await CLIENTS.chromium.ensure();
  const { chromium } = await import("playwright-core");
  // Browsers offer the clipboard, and so pages their copy buttons, on secure origins only.
  const here = [`--host-resolver-rules=MAP ${HOSTNAME} 127.0.0.1:${registry.port}`, `--unsafely-treat-insecure-origin-as-secure=http://${HOSTNAME}`];
  const browser = await chromium.launch({ executablePath: CLIENTS.chromium.find(), args: ["--no-sandbox", "--hide-scrollbars", ...here] });
  cleanup.add("closing the browser", () => browser.close());
  for (const colorScheme of ["light", "dark"]) {
    const page = await browser.newPage({ viewport: { width: 1200, height: 800 }, colorScheme });
    await page.goto(new URL(path, `http://${HOSTNAME}`).href, { waitUntil: "networkidle" });
    // WebP is half as large as PNG; playwright itself writes none.
    const session = await page.context().newCDPSession(page);
    const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 85 });
    await writeFile(join(root, "docs", "images", `page-module-${colorScheme}.webp`), Buffer.from(data, "base64"));
  }
}
