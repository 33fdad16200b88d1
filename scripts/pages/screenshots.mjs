// Takes pictures of pages for the documentation, light and dark.
import { mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";

import { chromium } from "playwright-core";

import { find } from "../lib/clients.mjs";
import { root } from "../lib/paths.mjs";
import { say, step } from "../lib/step.mjs";
import { PAGES, startWithPackages } from "./registry.mjs";

const IMAGES = join(root, "docs", "images");

/** The pages in pictures, and the heights of their windows. */
const PICTURES = { start: 700, module: 800, document: 800, comparison: 760 };

const WIDTH = 1200;
const QUALITY = 85;
const MOST_BYTES = 100_000;

/** The hostname in the pictures. The browser finds the local registry there. */
const HOSTNAME = "registry.example.com";

/** Writes `docs/images/page-{name}-{light,dark}.webp`. */
export async function takeScreenshots(cleanup) {
  const registry = await startWithPackages(cleanup);
  // Browsers offer the clipboard, and so pages their copy buttons, on secure origins only.
  const here = [`--host-resolver-rules=MAP ${HOSTNAME} 127.0.0.1:${registry.port}`, `--unsafely-treat-insecure-origin-as-secure=http://${HOSTNAME}`];
  const args = ["--no-sandbox", "--hide-scrollbars", ...here];
  const browser = await chromium.launch({ executablePath: find("chromium"), args });
  cleanup.add("closing the browser", () => browser.close());
  await mkdir(IMAGES, { recursive: true });
  await step("taking pictures of the pages", async () => {
    for (const [name, height] of Object.entries(PICTURES)) {
      for (const colorScheme of ["light", "dark"]) {
        const page = await browser.newPage({ viewport: { width: WIDTH, height }, colorScheme });
        await page.goto(new URL(PAGES[name], `http://${HOSTNAME}`).href, { waitUntil: "networkidle" });
        await save(page, join(IMAGES, `page-${name}-${colorScheme}.webp`));
        await page.close();
      }
    }
  });
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
