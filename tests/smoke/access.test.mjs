// Callers whose identity the Worker learns from other servers: a person with a session, and a job with the token of its CI.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import tls from "node:tls";

import { module, saying } from "../clients/support/releases.mjs";
import { before, describe, test } from "../clients/support/testing.mjs";
import { Visitor } from "../clients/support/visitor.mjs";
import { OF_JOBS, PRIVATE, smokeRegistry } from "./support/server.mjs";

const skip = process.platform === "linux" ? false : "the tests' CA works only on Linux";

describe("callers known to other servers", () => {
  const registry = smokeRegistry();

  before(async () => {
    // The browser of this test is this process.
    tls.setDefaultCACertificates([await readFile(registry.ca, "utf8")]);
    await registry.publishes(module({ address: `${PRIVATE}/vpc/aws`, version: "1.0.0", files: saying("private") }));
  });

  test("a person signs in, and reads a page that does not exist for others", { skip }, async () => {
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

  test("a CI job publishes with its token, in its namespace alone, and a changed token is refused", { skip }, async () => {
    const exchange = async (token) => {
      const form = { grant_type: "urn:ietf:params:oauth:grant-type:token-exchange", subject_token: token, subject_token_type: "urn:ietf:params:oauth:token-type:id_token" };
      const response = await registry.request("/oauth/exchange", { method: "POST", body: new URLSearchParams(form) });
      return { status: response.status, answer: await response.json() };
    };
    const { status, answer } = await exchange(registry.job);
    assert.equal(status, 200, JSON.stringify(answer));
    const release = (namespace) => module({ address: `${namespace}/network/aws`, version: "1.0.0", files: saying("of a job") });
    assert.equal((await registry.publish(release(OF_JOBS), answer.access_token)).status, 201);
    assert.equal((await registry.publish(release("others"), answer.access_token)).status, 403);
    const [header, claims, signature] = registry.job.split(".");
    const changed = JSON.parse(Buffer.from(claims, "base64url"));
    const evil = Buffer.from(JSON.stringify({ ...changed, jti: "another" })).toString("base64url");
    assert.equal((await exchange([header, evil, signature].join("."))).status, 400);
  });
});
