// The documents around the pages, as a browser parses them: feeds, badges, the search of browsers, the site map.
import assert from "node:assert/strict";

import { unlessBrowser, useBrowser, visit, watchedWindow } from "../support/browser.mjs";
import { MODULE, PROVIDER, publishCatalogue } from "../support/catalogue.mjs";
import { useRegistry } from "../support/registry.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, describe, test } from "../support/testing.mjs";

describe("the documents around the pages", { skip: unlessBrowser() }, () => {
  const registry = useRegistry();
  const directory = scratch();
  const browser = useBrowser();
  let page;
  before(async () => {
    await publishCatalogue(registry, directory);
    page = await watchedWindow(browser, registry);
    await visit(page, registry, { path: "/" });
  }, "publishing");

  /** Returns the root and the elements of an XML document: their names, their texts and their attributes. */
  async function parsed(path, type) {
    const response = await registry.request(path);
    assert.equal(response.status, 200, path);
    assert.ok(response.headers.get("content-type").startsWith(type), `${path}: ${response.headers.get("content-type")}`);
    const elements = await page.evaluate((text) => {
      const all = [...new DOMParser().parseFromString(text, "application/xml").querySelectorAll("*")];
      return all.map((it) => ({ name: it.localName, namespace: it.namespaceURI, text: it.textContent, attributes: Object.fromEntries([...it.attributes].map(({ name, value }) => [name, value])) }));
    }, await response.text());
    assert.ok(!elements.some(({ name }) => name === "parsererror"), `${path}: ${elements[0].text}`);
    return elements;
  }

  const textsOf = (elements, name) => elements.filter((it) => it.name === name).map(({ text }) => text);

  test("feeds are Atom, their entries are different, and their links lead to pages", async () => {
    const feeds = ["/feed.atom", "/namespaces/acme/feed.atom", `/modules/${MODULE}/feed.atom`, `/providers/${PROVIDER}/feed.atom`];
    for (const path of feeds) {
      const [root, ...elements] = await parsed(path, "application/atom+xml");
      assert.deepEqual([root.name, root.namespace], ["feed", "http://www.w3.org/2005/Atom"], path);
      const entries = textsOf(elements, "entry").length;
      assert.ok(entries > 0, path);
      const ids = textsOf(elements, "id");
      assert.equal(ids.length, entries + 1, path);
      assert.equal(new Set(ids).size, ids.length, path);
      for (const time of textsOf(elements, "updated")) assert.ok(!Number.isNaN(Date.parse(time)), `${path}: ${time}`);
      for (const { attributes } of elements.filter(({ name }) => name === "link")) {
        const target = new URL(attributes.href, registry.url);
        assert.equal(target.origin, registry.url);
        assert.equal((await registry.request(target)).status, 200, target.href);
      }
    }
  });

  test("the feed of a page is the one that it names", async () => {
    await visit(page, registry, { path: `/modules/${MODULE}/1.2.0` });
    assert.equal(await page.getAttribute('link[type="application/atom+xml"]', "href"), `/modules/${MODULE}/feed.atom`);
  });

  test("badges are pictures that show the version and the status", async () => {
    const badges = {
      [`/badges/modules/${MODULE}/version.svg`]: /1\.2\.0/,
      [`/badges/providers/${PROVIDER}/version.svg`]: /1\.1\.0/,
      "/badges/modules/acme/old/aws/status.svg": /deprecated/,
    };
    for (const [path, expected] of Object.entries(badges)) {
      const [root] = await parsed(path, "image/svg+xml");
      assert.deepEqual([root.name, root.namespace], ["svg", "http://www.w3.org/2000/svg"], path);
      assert.match(root.text, expected, path);
      const size = await page.evaluate(async (source) => {
        const image = new Image();
        image.src = source;
        await image.decode();
        return image.naturalWidth;
      }, path);
      assert.ok(size > 20, path);
    }
  });

  test("browsers learn the address of the search", async () => {
    const elements = await parsed("/opensearch.xml", "application/opensearchdescription+xml");
    const url = elements.find(({ name }) => name === "Url").attributes.template.replace("{searchTerms}", "widget");
    assert.equal(url, `${registry.url}/search?q=widget`);
    assert.equal((await registry.request(url)).status, 200);
    assert.equal(await page.getAttribute('link[rel="search"]', "href"), "/opensearch.xml");
  });

  test("crawlers find the site map, and every page in it", async () => {
    const robots = await (await registry.request("/robots.txt")).text();
    assert.ok(robots.includes(`Sitemap: ${registry.url}/sitemap.xml`), robots);
    const places = textsOf(await parsed("/sitemap.xml", "application/xml"), "loc");
    assert.ok(places.length >= 4, places.join());
    for (const place of places) assert.equal((await registry.request(place)).status, 200, place);
    assert.ok(places.some((it) => it.includes(MODULE)) && places.some((it) => it.includes(PROVIDER)), places.join());
  });
});
