// The pages with the keyboard alone.
import assert from "node:assert/strict";

import { unlessBrowser, useBrowser, useVisitor } from "../support/browser.mjs";
import { MODULE, PROVIDER, publishCatalogue } from "../support/catalogue.mjs";
import { useRegistry } from "../support/registry.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, describe, test } from "../support/testing.mjs";

const DOCUMENT = `/providers/${PROVIDER}/1.1.0/docs/resources/part`;
const MODULE_PAGE = `/modules/${MODULE}/1.2.0`;

/** Pages of different structure, and the widths of windows that differ in what they show. */
const TABBED = [["/", 1280], [`/providers/${PROVIDER}/1.1.0`, 1280], [DOCUMENT, 1280], [DOCUMENT, 360], [MODULE_PAGE, 1280], [MODULE_PAGE, 360], [`/modules/${MODULE}/compare/1.0.0...1.2.0`, 360]];

/** More than any of these pages has. */
const MOST_STOPS = 400;

describe("the keyboard", { skip: unlessBrowser() }, () => {
  const registry = useRegistry();
  const directory = scratch();
  const browser = useBrowser();
  const opened = useVisitor(browser, registry);
  before(() => publishCatalogue(registry, directory), "publishing");

  for (const [path, width] of TABBED) {
    test(`Tab reaches every link, field and button of ${path} in their order, visibly, at ${width} pixels`, async () => {
      const page = await opened(path, { width });
      const expected = await page.evaluate(markStops);
      assert.ok(expected.length > 5, path);
      const reached = [];
      for (let stop = 0; stop < MOST_STOPS; stop += 1) {
        await page.keyboard.press("Tab");
        const found = await page.evaluate(focused);
        // After the last stop comes the browser's own interface, or the first stop again.
        if (found === null || (found.mark && found.mark === reached[0])) break;
        assert.ok(found.isVisible, `${path}: the focus is not visible on ${found.html}`);
        if (found.mark) reached.push(found.mark);
      }
      assert.deepEqual(reached, expected);
    });
  }

  test("the first stop skips to the text", async () => {
    const page = await opened(DOCUMENT);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    assert.equal(new URL(page.url()).hash, "#page-content");
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.getElementById("page-content").contains(document.activeElement)));
  });

  test("a slash moves to the search, and Enter searches", async () => {
    const page = await opened(MODULE_PAGE);
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "page-q");
    await page.keyboard.type("gear/x");
    assert.equal(await page.inputValue("#page-q"), "gear/x");
    await page.fill("#page-q", "gear");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/search\?q=gear$/);
    assert.match(await page.innerText("main"), /widget_gear/);
  });

  test("the filter of the documentation shows matches only, says so when there are none, and Enter opens the first", async () => {
    const page = await opened(DOCUMENT);
    await page.fill("[data-filter]", "zzz");
    assert.match(await page.innerText(".matches"), /Nothing has this name/);
    await page.fill("[data-filter]", "");
    assert.equal(await page.locator(".tree").isVisible(), true);
    await page.focus("[data-filter]");
    await page.keyboard.type("gear");
    assert.equal(await page.locator(".tree").isVisible(), false);
    const names = await page.locator(".matches a").allInnerTexts();
    assert.equal(names.length, 1);
    assert.match(names[0], /gear/);
    assert.equal(await page.textContent("#page-live"), "1 match");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/1\.1\.0\/docs\/resources\/gear$/);
  });

  test("the filter of a list counts its matches, and says so when there are none", async () => {
    const page = await opened(`${MODULE_PAGE}/submodules/endpoints`);
    const shown = page.locator("#page-outputs .field:visible");
    const all = await shown.count();
    for (const [typed, count, says] of [["address_7", 1, `1 of ${all}`], ["zzz", 0, "No output matches “zzz”."], ["", all, `Outputs ${all}`]]) {
      await page.fill("#page-outputs input", typed);
      assert.equal(await shown.count(), count);
      assert.ok((await page.innerText("#page-outputs")).includes(says), says);
    }
  });

  test("the arrows select a way to install, with JavaScript and without it", async () => {
    for (const javaScriptEnabled of [true, false]) {
      const page = await opened(MODULE_PAGE, { javaScriptEnabled });
      await page.focus(".tabs > input:checked");
      assert.match(await page.locator(".tabs .panel:visible").innerText(), /version = /);
      await page.keyboard.press("ArrowRight");
      assert.match(await page.locator(".tabs .panel:visible").innerText(), /oci:/);
      assert.equal(await page.locator(".tabs .panel:visible").count(), 1);
    }
  });

  test("Escape closes the menu of versions, and the focus returns to it", async () => {
    const page = await opened(`/providers/${PROVIDER}/1.1.0`);
    await page.focus("details.menu summary");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("details.menu").first().evaluate((it) => it.open), true);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("details.menu").first().evaluate((it) => it.open), false);
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "SUMMARY");
  });
});

/** Runs in the page: marks the elements that Tab must reach, and returns the marks. One button of a group of radio buttons is enough. */
function markStops() {
  const isReachable = (it) => it.tabIndex >= 0 && !it.disabled && (it.type !== "radio" || it.checked) && it.checkVisibility({ visibilityProperty: true });
  const stops = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].filter(isReachable);
  return stops.map((it, at) => (it.dataset.stop = `${at} ${it.tagName} ${it.textContent.trim().slice(0, 20)}`));
}

/** Runs in the page: returns the focused element, and whether readers see that it has the focus; `null` at the end of the page. */
function focused() {
  const it = document.activeElement;
  if (it === document.body) return null;
  const hasOutline = (element) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    return outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
  };
  const isVisible = [it, ...(it.labels ?? [])].some((element) => hasOutline(element) && element.getClientRects().length > 0);
  return { mark: it.dataset.stop, html: it.outerHTML.slice(0, 160), isVisible };
}
