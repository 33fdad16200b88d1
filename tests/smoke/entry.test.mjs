// The Worker's entry, which drives reads of KV in JavaScript: one value as a stream with its metadata, and several at once.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import { until } from "../../scripts/lib/wait.mjs";
import { module, saying } from "../clients/support/releases.mjs";
import { before, describe, test } from "../clients/support/testing.mjs";
import { smokeRegistry } from "./support/server.mjs";

const ADDRESS = "entry/network/aws";
const LIST = `/v1/modules/${ADDRESS}/versions`;

describe("reads of the entry", () => {
  const registry = smokeRegistry();

  before(() => registry.publishes(module({ address: ADDRESS, version: "1.0.0", files: saying("entry") })));

  test("HEAD has the headers of GET, and no body", async () => {
    for (const path of [LIST, "/", "/healthz", "/v1/modules/entry/nothing/aws/versions"]) {
      // A compressed answer has another length.
      const ask = (method) => registry.request(path, { method, headers: { "accept-encoding": "identity" } });
      const [get, head] = [await ask("GET"), await ask("HEAD")];
      assert.ok((await get.text()).length > 0, path);
      assert.equal(await head.text(), "", path);
      const of = ({ status, headers }) => [status, ...["content-type", "cache-control", "etag"].map((name) => headers.get(name))];
      assert.deepEqual(of(head), of(get), path);
    }
  });

  test("a list and a version take one operation of KV, which reads several values at once, and none of R2", async () => {
    const reads = { module_versions: LIST, module_version: `/v1/modules/${ADDRESS}/1.0.0` };
    for (const [number, [route, path]] of Object.entries(reads).entries()) {
      // No other client has this version, so it finds the line in the log.
      const version = `0.0.${number}`;
      const response = await registry.request(path, { headers: { "user-agent": `Terraform/${version}` } });
      assert.equal(response.status, 200, await response.text());
      const line = await logged(`"client_version":"${version}"`);
      assert.deepEqual({ ...line, ms: 0, kv_ms: 0 }, { ...line, route, index: "hit", ms: 0, kv: 1, kv_ms: 0, r2: 0, origin: 0 });
    }
  });

  /** Waits for a line of the registry's log, which arrives a moment later. */
  async function logged(part) {
    const log = () => readFile(registry.logFile, "utf8");
    const found = await until(async () => (await log()).split("\n").find((line) => line.startsWith("{") && line.includes(part)));
    assert.ok(found, await log());
    return JSON.parse(found);
  }
});
