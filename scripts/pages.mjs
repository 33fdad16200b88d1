// `npm run pages`: renews the pictures of the pages in docs/images, light and dark, of a registry with the packages of the tests.
// `-- --serve` runs that registry until Ctrl-C instead.
import { writeFile } from "node:fs/promises";
import { join, relative } from "node:path";

import { buildCli } from "./build.mjs";
import { Cleanup, temporaryDirectory } from "./lib/cleanup.mjs";
import { CLIENTS } from "./lib/clients.mjs";
import { endTogether, endWithParent } from "./lib/lifetime.mjs";
import { ensureNpmPackages } from "./lib/npm.mjs";
import { root } from "./lib/paths.mjs";
import { main, say, step } from "./lib/step.mjs";
import { startNativeServer } from "./native-server.mjs";

/** The page in pictures, by the name of the tests, and the height of its window. */
const PICTURES = { module: ["a module", 800] };

const WIDTH = 1200;
const QUALITY = 85;
const MOST_BYTES = 100_000;

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
    if (!process.argv.includes("--serve")) return await takePictures(cleanup, registry, PAGES);
    endTogether(registry, cleanup);
    for (const { path } of Object.values(PAGES)) say(`  ${new URL(path, registry.url)}`);
    await registry.ended;
  } finally {
    await cleanup.run();
  }
});

/** Writes `docs/images/page-{name}-{light,dark}.webp`. */
async function takePictures(cleanup, registry, pages) {
  await CLIENTS.chromium.ensure();
  const { chromium } = await import("playwright-core");
  // Browsers offer the clipboard, and so pages their copy buttons, on secure origins only.
  const here = [`--host-resolver-rules=MAP ${HOSTNAME} 127.0.0.1:${registry.port}`, `--unsafely-treat-insecure-origin-as-secure=http://${HOSTNAME}`];
  const browser = await chromium.launch({ executablePath: CLIENTS.chromium.find(), args: ["--no-sandbox", "--hide-scrollbars", ...here] });
  cleanup.add("closing the browser", () => browser.close());
  for (const [name, [page, height]] of Object.entries(PICTURES)) {
    for (const colorScheme of ["light", "dark"]) {
      const window = await browser.newPage({ viewport: { width: WIDTH, height }, colorScheme });
      await window.goto(new URL(pages[page].path, `http://${HOSTNAME}`).href, { waitUntil: "networkidle" });
      await save(window, join(root, "docs", "images", `page-${name}-${colorScheme}.webp`));
      await window.close();
    }
  }
}

/** Writes a picture of the window as WebP, half as large as PNG; playwright itself writes none. */
async function save(page, path) {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
  const bytes = Buffer.from(data, "base64");
  say(`  ${relative(root, path)}: ${bytes.length} bytes`);
  if (bytes.length > MOST_BYTES) throw new Error(`${path} has ${bytes.length} bytes, and may have ${MOST_BYTES}: make the window smaller`);
  await writeFile(path, bytes);
}
