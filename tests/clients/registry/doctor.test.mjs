// `terrace doctor` finds nothing wrong with a sound registry, over HTTPS with a certificate authority of one's own.
import assert from "node:assert/strict";

import { inBothModes, useRegistry } from "../support/registry.mjs";
import { module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, test } from "../support/testing.mjs";

inBothModes((mode) => {
  const registry = useRegistry({ mode, https: true });
  const home = scratch();

  before(async () => {
    const key = await registry.trusts("acme");
    await registry.publishes(
      provider({ address: "acme/hello", version: "1.0.0", key }),
      module({ address: "acme/greeting/aws", version: "1.0.0", files: saying("hello") }),
    );
  }, "publishing");

  test("a sound registry passes all checks", async () => {
    const args = ["doctor", registry.url, "--skip", "L", "--provider", "acme/hello", "--module", "acme/greeting/aws"];
    const checks = (await registry.report(args, { env: { HOME: home } })).categories.flatMap((category) => category.checks);
    assert.deepEqual(checks.filter(({ status }) => !["pass", "skip"].includes(status)), []);
    const passed = checks.filter(({ status }) => status === "pass").map(({ id }) => id);
    for (const group of "TSAPMDK") assert.ok(passed.some((id) => id.startsWith(group)), `${group}: ${passed.join(" ")}`);
  });
});
