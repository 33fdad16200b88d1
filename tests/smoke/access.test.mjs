// A caller whose identity the Worker learns from another server: a person with a session.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import tls from "node:tls";

import { module, saying } from "../clients/support/releases.mjs";
import { before, describe, test } from "../clients/support/testing.mjs";
import { Visitor } from "../clients/support/visitor.mjs";
import { PRIVATE, smokeRegistry } from "./support/server.mjs";

const skip = process.platform === "linux" ? false : "the tests' CA works only on Linux";

describe("a person known to another server", () => {
  const registry = smokeRegistry();

  before(async () => {
    // The browser of this test is this process.
    tls.setDefaultCACertificates([await readFile(registry.ca, "utf8")]);
    await registry.publishes(module({ address: `${PRIVATE}/vpc/aws`, version: "1.0.0", files: saying("private") }));
  });

  test("signs in, and reads a page that does not exist for others", { skip }, async () => {
    const path = `/modules/${PRIVATE}/vpc/aws/1.0.0`;
    const visitor = new Visitor();
    assert.equal((await visitor.request(registry.url + path)).status, 404);
    const sent = await visitor.request(`${registry.url}/sign-in?${new URLSearchParams({ to: path })}`);
    assert.equal(sent.status, 303);
    const back = await visitor.signsIn(sent.headers.get("location"), "ann");
    const answer = await visitor.request(back);
    assert.deepEqual([answer.status, answer.headers.get("location")], [303, path], await answer.text());
    const shown = await visitor.request(registry.url + path);
    assert.equal(shown.status, 200);
    assert.match(await shown.text(), /<h1[^>]*>[^]*vpc/);
  });
});
