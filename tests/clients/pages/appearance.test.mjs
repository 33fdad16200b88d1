// Every kind of page in a real browser: light and dark, narrow and wide, with JavaScript and without it.
import assert from "node:assert/strict";

import { unlessBrowser, useBrowser, violations, visit, watchedWindow } from "../support/browser.mjs";
import { PAGES, publishCatalogue } from "../support/catalogue.mjs";
import { useRegistry } from "../support/registry.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, describe, test } from "../support/testing.mjs";

const skip = unlessBrowser();

/**
 * All kinds of windows in which a page is shown. Each page is loaded once with JavaScript and once without it; then the window
 * changes its colours and its width, which reach a page only through the media queries of its stylesheet.
 */
const WINDOWS = ["light", "dark"].flatMap((scheme) => [360, 1280].map((width) => ({ scheme, width })));

/**
 * The windows in which axe looks at a page: each width and each scheme once. Schemes change colours only, and widths the layout
 * only, so the other two windows break no further rule.
 */
const EXAMINED = [WINDOWS.at(0), WINDOWS.at(-1)];

/** Opens a window with JavaScript and one without it for the tests of the suite that is being defined. */
function useWindows(registry) {
  const browser = useBrowser();
  const windows = [];
  before(async () => {
    for (const javaScriptEnabled of [true, false]) {
      windows.push({ javaScriptEnabled, page: await watchedWindow(browser, registry, { javaScriptEnabled }) });
    }
  }, "opening the windows");
  return windows;
}

/** Gives a window another width and other colours. */
async function change(page, { scheme, width }) {
  await page.emulateMedia({ colorScheme: scheme });
  await page.setViewportSize({ width, height: 800 });
}

/** Returns the title, the number of main headings, the background, and the elements that are wider than the window. */
const structure = (page) =>
  page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const isWider = (element) => element.getBoundingClientRect().right > clientWidth + 1;
    const wide = [...document.querySelectorAll("body *")].filter(isWider).map(({ outerHTML }) => outerHTML.slice(0, 120));
    return {
      title: document.title,
      headings: document.querySelectorAll("h1").length,
      background: getComputedStyle(document.body).backgroundColor,
      wide: scrollWidth > clientWidth ? wide.slice(0, 3) : [],
      overflow: scrollWidth - clientWidth,
    };
  });

/** Defines the test of a page. */
function looksRight(name, subject, windows, registry) {
  test(`${name} fits every window, breaks no rule of accessibility, and loads nothing from other hosts`, async () => {
    const backgrounds = {};
    for (const { javaScriptEnabled, page } of windows) {
      page.problems.length = 0;
      await visit(page, registry, subject);
      for (const window of WINDOWS) {
        const where = `${subject.path} ${JSON.stringify({ ...window, javaScriptEnabled })}`;
        await change(page, window);
        const { title, headings, background, wide, overflow } = await structure(page);
        assert.ok(title.includes(registry.host), `${where}: ${title}`);
        assert.equal(headings, 1, where);
        assert.equal(overflow, 0, `${where}: ${wide.join("\n")}`);
        if (javaScriptEnabled && EXAMINED.includes(window)) assert.deepEqual(await violations(page), [], where);
        assert.deepEqual(page.problems, [], where);
        backgrounds[window.scheme] = background;
      }
    }
    assert.notEqual(backgrounds.light, backgrounds.dark, "light and dark look the same");
  });
}

describe("the pages of an empty registry", { skip }, () => {
  const registry = useRegistry();
  const windows = useWindows(registry);
  looksRight("the start page", { path: "/", shows: "First steps" }, windows, registry);
  looksRight("a list", { path: "/browse/modules" }, windows, registry);

  test("these tests see a blocked script, a request to another host, a wide element, and an image without a text", async () => {
    const { page } = windows.find(({ javaScriptEnabled }) => javaScriptEnabled);
    await visit(page, registry, { path: "/" });
    await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "document.title = 'executed'";
      const image = document.createElement("img");
      image.src = "https://pictures.example/widget.png";
      image.style.minWidth = "2000px";
      document.querySelector("main").append(script, image);
    });
    const { title, overflow } = await structure(page);
    assert.notEqual(title, "executed");
    assert.ok(overflow > 0);
    assert.match(page.problems.join("\n"), /inline script.*Content Security Policy/s);
    assert.match(page.problems.join("\n"), /pictures\.example/);
    assert.match((await violations(page)).join("\n"), /^image-alt: /m);
  });
});

describe("the pages of a registry with packages", { skip }, () => {
  const registry = useRegistry();
  const directory = scratch();
  const windows = useWindows(registry);
  before(() => publishCatalogue(registry, directory), "publishing");
  for (const [name, subject] of Object.entries(PAGES)) looksRight(name, subject, windows, registry);
});
