// The reader of a deployed Worker's log, with documents as `wrangler tail --format json` prints them.
import assert from "node:assert/strict";

import { cacheIn, linesIn } from "../clients/support/deployed-log.mjs";
import { test } from "../clients/support/testing.mjs";

const line = (cache) => `{"route":"archive","method":"GET","status":200,"ms":12${cache ? `,"cache":"${cache}"` : ""},"kv":0}`;

const event = (ray, ...messages) => ({
  outcome: "ok",
  logs: messages.map((message) => ({ message: [message], level: "log", timestamp: 1_800_000_000_000 })),
  event: { request: { url: "https://registry.example.com/archives/REDACTED", method: "GET", headers: { "cf-ray": ray } }, response: { status: 200 } },
});

const LOG = [
  "$ node wrangler tail terrace --format json",
  JSON.stringify({ outcome: "ok", logs: [], event: { cron: "* * * * *" } }, null, 2),
  JSON.stringify(event("8a1b2c3d4e5f6071", line("miss")), null, 2),
  JSON.stringify(event("9a1b2c3d4e5f6072-LHR", "cache of archives: too many requests", { odd: true }, line())),
  "",
].join("\n");

test("finds the lines of a request by its ray", () => {
  assert.deepEqual(linesIn(LOG, "8a1b2c3d4e5f6071"), [line("miss")]);
  assert.deepEqual(linesIn(LOG, "9a1b2c3d4e5f6072"), ["cache of archives: too many requests", line()]);
  assert.equal(linesIn(LOG, "0000000000000000"), undefined);
});

test("ignores a document that is not complete yet", () => {
  const cut = LOG.slice(0, LOG.indexOf('"route') + 10);
  assert.equal(linesIn(cut, "8a1b2c3d4e5f6071"), undefined);
});

test("finds the origin of an archive in the line of its request", () => {
  assert.equal(cacheIn(linesIn(LOG, "8a1b2c3d4e5f6071")), "miss");
  assert.equal(cacheIn(linesIn(LOG, "9a1b2c3d4e5f6072")), undefined);
});
