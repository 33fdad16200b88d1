// The bytes that pages take, compressed as Cloudflare does.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";

import { unlessBrowser, useBrowser, visit, watchedWindow } from "../support/browser.mjs";
import { MODULE, PROVIDER, publishCatalogue } from "../support/catalogue.mjs";
import { useRegistry } from "../support/registry.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, describe, test } from "../support/testing.mjs";

const KIB = 1024;

/** The limits: of the stylesheet and the script together, and of the first visit of a page with everything that it loads. */
const FILES_BYTES = 12 * KIB;
const VISIT_BYTES = 40 * KIB;

describe("the weight of pages", { skip: unlessBrowser() }, () => {
  const registry = useRegistry();
  const directory = scratch();
  const browser = useBrowser();
  before(() => publishCatalogue(registry, directory), "publishing");

  /** Visits a page for the first time; returns the compressed bytes of each answer by its path, and the layout shift. The window shows the whole page. */
  async function firstVisit(path) {
    const page = await watchedWindow(browser, registry, { viewport: { width: 1280, height: 4000 } });
    const responses = [];
    page.on("response", (response) => responses.push(response));
    await visit(page, registry, { path });
    await page.waitForLoadState("networkidle");
    const weights = {};
    for (const response of responses) {
      const { responseHeadersSize } = await response.request().sizes();
      weights[new URL(response.url()).pathname] = gzipSync(await response.body()).length + responseHeadersSize;
    }
    const shift = await page.evaluate(layoutShift);
    await page.context().close();
    return { weights, shift };
  }

  for (const path of [`/providers/${PROVIDER}/1.1.0`, `/providers/${PROVIDER}/1.1.0/docs`, `/modules/${MODULE}/1.2.0`, "/"]) {
    test(`the first visit of ${path} is light, and nothing moves while it loads`, async (t) => {
      const { weights, shift } = await firstVisit(path);
      const names = Object.keys(weights);
      const files = names.filter((name) => /\.(css|js)$/.test(name));
      assert.equal(files.length, 2, names.join());
      const sum = (some) => some.reduce((bytes, name) => bytes + weights[name], 0);
      t.diagnostic(`${path}: ${sum(names)} bytes in ${names.length} answers, ${sum(files)} of them for the stylesheet and the script`);
      assert.ok(sum(files) <= FILES_BYTES, JSON.stringify(weights));
      assert.ok(sum(names) <= VISIT_BYTES, JSON.stringify(weights));
      assert.ok(names.length <= 4, names.join());
      assert.equal(shift, 0);
    });
  }
});

/** Runs in the page: returns the sum of its layout shifts. */
function layoutShift() {
  return new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) sum += value;
    }).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(sum), 300);
  });
}
