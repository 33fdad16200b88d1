// The information for operators about the Worker in workerd: log lines, metrics, and the counts of its
// bindings.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { useRegistry } from "../support/registry.mjs";
import { module, saying } from "../support/releases.mjs";
import { before, describe, test } from "../support/testing.mjs";
import { useWatchedRegistry } from "../support/watched.mjs";

const RELEASE = { address: "acme/greeting/aws", version: "1.0.0", files: saying("hello") };
const DOWNLOAD = "/v1/modules/acme/greeting/aws/1.0.0/download";
const TERRAFORM = { "user-agent": "Terraform/1.11.4 (+https://www.terraform.io)" };
const PATIENCE_MS = 10_000;

describe("the log", () => {
  const limiter = { name: "FAILURES", namespace_id: "1001", simple: { limit: 3, period: 60 } };
  const registry = useRegistry({ bindings: { ratelimits: [limiter] } });
  before(() => registry.publishes(module(RELEASE)));

  /** Returns the log lines of a route, after waiting until there are `count` of them. */
  async function lines(route, count) {
    for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(100)) {
      const log = await readFile(registry.logFile, "utf8");
      const found = log.split("\n").filter((line) => line.startsWith(`{"route":"${route}"`));
      if (found.length >= count) return found.map((line) => JSON.parse(line));
      assert.ok(Date.now() < deadline, log);
    }
  }

  test("the platform's limiter refuses repeated wrong credentials, and valid ones pass", async () => {
    const guess = async (token) => {
      const headers = { authorization: `Bearer ${token}`, "cf-connecting-ip": "192.0.2.1" };
      return (await registry.request("/admin/v1/tokens", { headers })).status;
    };
    const answered = [];
    for (let guesses = 0; guesses < 5; guesses += 1) answered.push(await guess("wrong"));
    assert.deepEqual(answered, [401, 401, 401, 429, 429]);
    assert.equal(await guess(registry.secrets.adminToken), 200);
  });

  test("the health check queries KV and R2", async () => {
    assert.deepEqual(await registry.json("/healthz"), { kv: "ok", r2: "ok" });
    const [{ kv, r2 }] = await lines("health", 1);
    assert.deepEqual({ kv, r2 }, { kv: 1, r2: 1 });
  });
});

describe("downloads", () => {
  const registry = useWatchedRegistry();
  before(() => registry.publishes(module(RELEASE)));

  test("are data points with package, version, route and client", async () => {
    await registry.watched();
    await registry.request(DOWNLOAD, { headers: TERRAFORM });
    await registry.request(DOWNLOAD.replace("1.0.0", "2.0.0"), { headers: TERRAFORM });
    const { downloads } = await registry.watched();
    const blobs = ["acme/greeting/aws", "1.0.0", "module_download", "Terraform", "1.11.4"];
    assert.deepEqual(downloads, [{ indexes: ["acme/greeting/aws"], blobs, doubles: [1] }]);
  });
});
