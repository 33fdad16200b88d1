// Visits of the pages with a real browser.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

import { unlessOnPath } from "./programs.mjs";
import { openBrowser } from "./sign-in.mjs";
import { after, before } from "./testing.mjs";

/** The `skip` option of a test that needs a browser: false, or the reason why it is skipped. */
export const unlessBrowser = () => unlessOnPath("chromium");

/** The rules of axe that count: those of WCAG 2.2 AA, and axe's best practices. */
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** Opens a browser for the tests of the suite that is being defined. */
export function useBrowser() {
  const browser = {};
  before(async () => Object.assign(browser, await openBrowser()), "opening the browser");
  after(() => browser.stop?.(), "closing the browser");
  return browser;
}

/** Opens a window of a new person that records what goes wrong in it. `options` are those of a context of playwright. */
export async function watchedWindow(browser, registry, { width = 1280, scheme = "light", ...options } = {}) {
  const page = await browser.window({ viewport: { width, height: 800 }, colorScheme: scheme, ...options });
  page.problems = [];
  const notes = (text) => page.problems.push(text);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !isOwnStatus(page, message)) notes(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => notes(`script: ${error.message}`));
  page.on("requestfailed", (request) => notes(`no answer: ${request.url()}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "data:" && url.origin !== new URL(registry.url).origin) notes(`request to another host: ${url}`);
  });
  return page;
}

/**
 * Returns a function that opens a page in a window with these options of a context. Visits with the same options take turns in
 * one window: a window of its own for each would cost half a second.
 */
export function useVisitor(browser, registry) {
  const windows = new Map();
  return async (path, options = {}) => {
    const key = JSON.stringify(options);
    if (!windows.has(key)) windows.set(key, await watchedWindow(browser, registry, options));
    const page = windows.get(key);
    page.problems.length = 0;
    await visit(page, registry, { path });
    return page;
  };
}

/** Returns whether a message only repeats the status of the page itself, which the test checks. */
const isOwnStatus = (page, message) => /^Failed to load resource: .* status of 4\d\d/.test(message.text()) && message.location().url === page.url();

/** Opens a page, and checks its status and its structure. */
export async function visit(page, registry, { path, status = 200, shows }) {
  const response = await page.goto(new URL(path, registry.url).href, { waitUntil: "load" });
  assert.equal(response.status(), status, path);
  if (shows) assert.ok((await page.innerText("body")).includes(shows), `${path} does not show "${shows}"`);
  return response;
}

/** Returns the rules that the page breaks, with the elements. */
export async function violations(page) {
  // The policy of the page forbids scripts of others, but not those of the debugger.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(await readFile(AXE, "utf8"));
  const { violations: found, passes } = await page.evaluate((runOnly) => globalThis.axe.run(document, { runOnly }), RULES);
  assert.ok(passes.length > 10, "axe has checked nothing");
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} (${failureSummary})`).join("; ")}`);
}
