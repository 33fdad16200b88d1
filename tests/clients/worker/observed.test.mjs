// What the Worker in workerd reports to the platform's bindings: repeated failures and downloads.
import assert from "node:assert/strict";

import { useRegistry } from "../support/registry.mjs";
import { module, saying } from "../support/releases.mjs";
import { describe, test } from "../support/testing.mjs";
import { useWatchedRegistry } from "../support/watched.mjs";

describe("the platform's limiter", () => {
  const limiter = { name: "FAILURES", namespace_id: "1001", simple: { limit: 3, period: 60 } };
  const registry = useRegistry({ bindings: { ratelimits: [limiter] } });

  test("refuses repeated wrong credentials, and valid ones pass", async () => {
    const guess = async (token) => {
      const headers = { authorization: `Bearer ${token}`, "cf-connecting-ip": "192.0.2.1" };
      return (await registry.request("/admin/v1/tokens", { headers })).status;
    };
    const answered = [];
    for (let guesses = 0; guesses < 5; guesses += 1) answered.push(await guess("wrong"));
    assert.deepEqual(answered, [401, 401, 401, 429, 429]);
    assert.equal(await guess(registry.secrets.adminToken), 200);
  });
});

describe("downloads", () => {
  const registry = useWatchedRegistry();

  test("are data points with package, version, route and client", async () => {
    await registry.publishes(module({ address: "acme/greeting/aws", version: "1.0.0", files: saying("hello") }));
    await registry.watched();
    for (const version of ["1.0.0", "2.0.0"]) {
      await registry.request(`/v1/modules/acme/greeting/aws/${version}/download`, { headers: { "user-agent": "Terraform/1.11.4 (+https://www.terraform.io)" } });
    }
    const { downloads } = await registry.watched();
    const blobs = ["acme/greeting/aws", "1.0.0", "module_download", "Terraform", "1.11.4"];
    assert.deepEqual(downloads, [{ indexes: ["acme/greeting/aws"], blobs, doubles: [1] }]);
  });
});
