// `npm run bench -- --peer`: measures the valid answers of any registry, whatever its routes are, and nothing
// else.
import assert from "node:assert/strict";
import { createServer } from "node:http";

import { measurePeer } from "../../../scripts/bench/peer.mjs";
import { test } from "../support/testing.mjs";

const WANTED = { providers: ["acme/widget/1.0.0"], modules: ["acme/net/local/1.0.0"], mirror: "/mirror/example.com", oci: "/v2/" };
const EFFORT = { rounds: 1, ms: 20 };

const LIST = { versions: [{ version: "1.0.0" }, { version: "0.9.0" }] };

test("routes are found by discovery, whether it contains paths or URLs", async (t) => {
  const elsewhere = await serving(t, { "/m/acme/net/local/versions": { json: { modules: [LIST] } } });
  const services = { "providers.v1": "/p/", "modules.v1": `${elsewhere}m` };
  const url = await serving(t, { "/.well-known/terraform.json": { json: services }, "/p/acme/widget/versions": { json: LIST } });

  const { measured } = await measurePeer({ url, wanted: WANTED, headers: {} }, EFFORT);

  assert.deepEqual(namesOf(measured), [
    "discovery",
    "provider versions of 2",
    "module versions of 2",
    "provider versions → 404",
    "module versions → 404",
  ]);
});

test("a request without a valid answer is skipped with the reason", async (t) => {
  const url = await serving(t, {
    "/v1/providers/acme/widget/versions": { json: { page: "Welcome" } },
    "/v1/modules/acme/net/local/versions": { status: 500, json: { error: "no database" } },
    "/v1/modules/acme/net/local/1.0.0/download": { status: 204, headers: { "x-terraform-get": "https://example.com/net.zip" } },
  });

  const { measured, skipped } = await measurePeer({ url, wanted: WANTED, headers: {} }, EFFORT);

  const reasons = Object.fromEntries(skipped.map(({ path, reason }) => [path, reason]));
  assert.match(reasons["/v1/providers/acme/widget/versions"], /Welcome.*not a valid answer of the protocol/);
  assert.match(reasons["/v1/modules/acme/net/local/versions"], /^500 .*no database/);
  assert.ok(namesOf(measured).includes("module download"));
});

test("a request that fails during the measurement is skipped, and the others are measured", async (t) => {
  let times = 0;
  const answers = { "/v1/providers/acme/widget/versions": { json: LIST }, "/v1/modules/acme/net/local/versions": { json: { modules: [LIST] } } };
  const url = await serving(t, answers, ({ url }) => !url.endsWith("widget/versions") || (times += 1) < 10);

  const { measured, skipped } = await measurePeer({ url, wanted: WANTED, headers: {} }, EFFORT);

  assert.match(skipped.find(({ name }) => name === "provider versions of 2").reason, /401 instead of 200/);
  assert.ok(namesOf(measured).includes("module versions of 2"));
});

test("an ETag is sent back, and an unchanged list is measured once more", async (t) => {
  const url = await serving(t, { "/v1/providers/acme/widget/versions": { json: LIST, etag: '"a"' } });

  const { measured } = await measurePeer({ url, wanted: WANTED, headers: {} }, EFFORT);

  const lists = measured.filter(({ name }) => name.startsWith("provider versions of 2"));
  assert.deepEqual(lists.map(({ name, status, bytes }) => ({ name, status, isEmpty: bytes === 0 })), [
    { name: "provider versions of 2", status: 200, isEmpty: false },
    { name: "provider versions of 2 → 304", status: 304, isEmpty: true },
  ]);
});

test("every request has the credentials, and without a process the CPU time is unknown", async (t) => {
  const authorization = "Bearer a-token";
  const url = await serving(t, { "/v1/providers/acme/widget/versions": { json: LIST } }, (request) => request.headers.authorization === authorization);

  const { measured } = await measurePeer({ url, wanted: WANTED, headers: { authorization } }, EFFORT);

  const [list] = measured.filter(({ name }) => name === "provider versions of 2");
  assert.ok(list.peer.rate > 0);
  assert.equal(list.peer.cpu, null);
  assert.equal(list.ratio, undefined);
});

const namesOf = (measured) => measured.map(({ name }) => name);

/** Starts a registry with these answers by path, and 404 for everything else. */
async function serving(t, answers, isAllowed = () => true) {
  const server = createServer((request, response) => {
    const { status = 200, json, etag, headers = {} } = isAllowed(request) ? (answers[request.url] ?? { status: 404 }) : { status: 401 };
    if (etag !== undefined && request.headers["if-none-match"] === etag) return response.writeHead(304, { etag }).end();
    return response.writeHead(status, { ...headers, ...(etag && { etag }) }).end(json && JSON.stringify(json));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}/`;
}
