// Every kind of page in a real browser: light and dark, narrow and wide, with JavaScript and without it.
import assert from "node:assert/strict";

import { SCHEMES, WIDTHS, unlessBrowser, useBrowser, violations, visit, watchedWindow } from "../support/browser.mjs";
import { PAGES, publishCatalogue } from "../support/catalogue.mjs";
import { useRegistry } from "../support/registry.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, describe, test } from "../support/testing.mjs";

const skip = unlessBrowser();

/** All kinds of windows in which a page is opened. */
const KINDS = SCHEMES.flatMap((scheme) =>
  WIDTHS.flatMap((width) => [true, false].map((javaScriptEnabled) => ({ scheme, width, javaScriptEnabled }))),
);

/** Opens a window of each kind for the tests of the suite that is being defined. */
function useWindows(registry) {
  const browser = useBrowser();
  const windows = [];
  before(async () => {
    for (const kind of KINDS) windows.push({ kind, page: await watchedWindow(browser, registry, kind) });
  }, "opening the windows");
  return windows;
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
    for (const { kind, page } of windows) {
      const where = `${subject.path} ${JSON.stringify(kind)}`;
      page.problems.length = 0;
      await visit(page, registry, subject);
      const { title, headings, background, wide, overflow } = await structure(page);
      assert.ok(title.includes(new URL(registry.url).host), `${where}: ${title}`);
      assert.equal(headings, 1, where);
      assert.equal(overflow, 0, `${where}: ${wide.join("\n")}`);
      assert.deepEqual(page.problems, [], where);
      if (kind.javaScriptEnabled) assert.deepEqual(await violations(page), [], where);
      backgrounds[kind.scheme] = background;
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
    const { page } = windows.find(({ kind }) => kind.javaScriptEnabled);
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
