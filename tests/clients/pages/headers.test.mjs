// The headers of pages, their Markdown, redirects, and the files that all pages share.
import assert from "node:assert/strict";

import { MODULE, PAGES, PROVIDER, publishCatalogue } from "../support/catalogue.mjs";
import { useRegistry } from "../support/registry.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, describe, test } from "../support/testing.mjs";

const DOCUMENT = `/providers/${PROVIDER}/1.1.0/docs/resources/part`;

/** The types that browsers accept. */
const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

describe("the answers of pages", () => {
  const registry = useRegistry();
  const directory = scratch();
  before(() => publishCatalogue(registry, directory), "publishing");

  const answer = (path, headers = {}) => registry.request(path, { headers: { accept: BROWSER, ...headers }, redirect: "manual" });

  /** Checks that `from` redirects to `to`. */
  async function leads(from, to, status) {
    const found = await answer(from);
    assert.equal(found.status, status, from);
    assert.equal(found.headers.get("location"), to, from);
    assert.equal((await answer(to)).status, 200, to);
  }

  for (const [name, { path, status = 200 }] of Object.entries(PAGES)) {
    test(`${name} is HTML that loads nothing from other hosts and that no frame shows`, async () => {
      const { status: found, headers } = await answer(path);
      assert.equal(found, status);
      assert.equal(headers.get("content-type"), "text/html; charset=utf-8");
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.equal(headers.get("x-frame-options"), "DENY");
      assert.equal(headers.get("cross-origin-opener-policy"), "same-origin");
      assert.equal(headers.get("referrer-policy"), "no-referrer");
      assert.equal(headers.get("set-cookie"), null);
      const policy = Object.fromEntries(headers.get("content-security-policy").split("; ").map((it) => it.split(/ (.*)/)));
      const { "default-src": others, "script-src": script, "style-src": style, "img-src": images, "frame-ancestors": frames } = policy;
      assert.deepEqual({ others, script, style, images, frames }, { others: "'none'", script: "'self'", style: "'self'", images: "'self' data:", frames: "'none'" });
      assert.equal(policy["base-uri"], "'none'");
    });

    if (status === 200) test(`${name} is not sent again to a browser that has it`, async () => {
      const { headers } = await answer(path);
      assert.equal(headers.get("cache-control"), "no-cache");
      const again = await answer(path, { "if-none-match": headers.get("etag") });
      assert.equal(again.status, 304);
      assert.equal(await again.text(), "");
      assert.equal(again.headers.get("etag"), headers.get("etag"));
      assert.equal((await answer(path, { "if-none-match": '"another"' })).status, 200);
    });
  }

  test("the Markdown of a document is at its path with .md, and for clients that accept Markdown", async () => {
    const twins = {
      [DOCUMENT]: [`${DOCUMENT}.md`, /^# widget_part/m],
      [`/providers/${PROVIDER}/1.1.0/docs`]: [`/providers/${PROVIDER}/1.1.0/docs/overview.md`, /^# widget Provider/m],
      [`/modules/${MODULE}/1.2.0/submodules/endpoints`]: [`/modules/${MODULE}/1.2.0/submodules/endpoints.md`, /^# Endpoints/m],
    };
    for (const [path, [twin, expected]] of Object.entries(twins)) {
      const own = await answer(twin);
      assert.equal(own.status, 200, twin);
      assert.match(own.headers.get("content-type"), /^text\/markdown/);
      const text = await own.text();
      assert.match(text, expected);
      assert.doesNotMatch(text, /<html/);
      const accepted = await answer(path, { accept: "text/markdown" });
      assert.match(accepted.headers.get("content-type"), /^text\/markdown/, path);
      assert.equal(await accepted.text(), text);
      const browsers = await answer(path, { accept: BROWSER });
      assert.match(browsers.headers.get("content-type"), /^text\/html/);
    }
    assert.match(await (await answer(`/modules/${MODULE}/1.2.0/readme.md`)).text(), /^# Network/m);
  });

  test("a path without a version, or with latest, leads to the newest version that can be installed", async () => {
    await leads(`/providers/${PROVIDER}`, `/providers/${PROVIDER}/1.1.0`, 302);
    await leads(`/providers/${PROVIDER}/latest`, `/providers/${PROVIDER}/1.1.0`, 302);
    await leads(`/providers/${PROVIDER}/latest/docs/resources/part`, DOCUMENT, 302);
    await leads(`/providers/${PROVIDER}/latest/docs/resources/part.md`, `${DOCUMENT}.md`, 302);
    await leads(`/modules/${MODULE}/latest`, `/modules/${MODULE}/1.2.0`, 302);
    await leads(`/modules/${MODULE}/latest/examples/simple`, `/modules/${MODULE}/1.2.0/examples/simple`, 302);
  });

  test("the paths of OpenTofu's registry lead to the same pages", async () => {
    const moved = {
      [`/provider/${PROVIDER}/1.1.0`]: `/providers/${PROVIDER}/1.1.0`,
      [`/provider/${PROVIDER}/v1.1.0/docs/datasources/part`]: `/providers/${PROVIDER}/v1.1.0/docs/data-sources/part`,
      [`/module/${MODULE}/1.2.0/submodule/endpoints`]: `/modules/${MODULE}/1.2.0/submodules/endpoints`,
      [`/module/${MODULE}/1.2.0/example/simple`]: `/modules/${MODULE}/1.2.0/examples/simple`,
    };
    for (const [from, to] of Object.entries(moved)) await leads(from, to, 301);
  });

  test("a file of the pages is cached for ever under its name, and not at all under an old one", async () => {
    const html = await (await answer("/")).text();
    const paths = [...new Set(html.match(/\/_assets\/[0-9a-f]+\.(css|js|svg)/g))];
    assert.equal(paths.length, 3, paths.join());
    const types = { css: /^text\/css/, js: /^text\/javascript/, svg: /^image\/svg\+xml/ };
    for (const path of paths) {
      const current = await answer(path);
      assert.equal(current.status, 200);
      assert.match(current.headers.get("cache-control"), /max-age=31536000, immutable/);
      assert.match(current.headers.get("content-type"), types[path.split(".").at(-1)]);
      const old = await answer(path.replace(/[0-9a-f]+\./, "0123456789abcdef."));
      assert.equal(old.status, 200);
      assert.equal(old.headers.get("cache-control"), "no-store");
      assert.equal(await old.text(), await current.text());
    }
    assert.equal((await answer("/_assets/0123456789abcdef.exe")).status, 404);
  });

  test("HEAD has the headers of GET, and no text", async () => {
    for (const path of ["/", DOCUMENT, `/modules/${MODULE}/1.2.0`]) {
      const head = await registry.request(path, { method: "HEAD" });
      assert.equal(head.status, 200);
      assert.equal(head.headers.get("etag"), (await answer(path)).headers.get("etag"));
      assert.equal(await head.text(), "");
    }
  });
});
