// `terrace doctor` finds nothing wrong with a sound registry, over HTTPS with a certificate authority of one's own.
import assert from "node:assert/strict";

import { cli } from "../../../scripts/build.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { module, provider, saying } from "../support/releases.mjs";
import { run } from "../support/programs.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, describe, test } from "../support/testing.mjs";

inBothModes((mode) => {
  for (const [title, vars] of Object.entries({ public: {}, private: { TERRACE_ACCESS: "private" } })) {
    describe(`a ${title} registry`, () => {
      const registry = useRegistry({ mode, https: true, vars });
      const keyDirectory = scratch();

      before(async () => {
        const key = await newKey(keyDirectory);
        await registry.trusts("acme", key);
        await registry.publishes(
          provider({ address: "acme/hello", version: "1.0.0", key }),
          module({ address: "acme/greeting/aws", version: "1.0.0", files: saying("hello") }),
        );
      }, "publishing");

      /** Returns the checks that did not pass, and the number of those that did. */
      async function examined(env) {
        const args = ["doctor", registry.url, "--skip", "L", "--json", "--provider", "acme/hello", "--module", "acme/greeting/aws"];
        const { code, output, stdout } = await run(cli, args, { env: { ...process.env, HOME: keyDirectory, ...env } });
        const { categories } = JSON.parse(stdout.toString());
        const checks = categories.flatMap(({ checks: found }) => found);
        const failed = checks.filter(({ status }) => !["pass", "skip"].includes(status));
        assert.deepEqual(failed, [], output);
        assert.equal(code, 0, output);
        return checks.filter(({ status }) => status === "pass").map(({ id }) => id);
      }

      test("passes all checks for its administrator", async () => {
        const passed = await examined(registry.env);
        assert.ok(passed.length >= 20, passed.join(" "));
        for (const group of "TSAPMDK") assert.ok(passed.some((id) => id.startsWith(group)), `${group}: ${passed.join(" ")}`);
      });

      // Nothing of a private registry can be tried without a token, which the doctor says.
      if (title === "public") test("passes all checks that need no token", async () => {
        const { SSL_CERT_FILE } = registry.env;
        const passed = await examined({ SSL_CERT_FILE, TERRACE_URL: undefined, TERRACE_TOKEN: undefined });
        assert.ok(passed.length >= 10, passed.join(" "));
      });
    });
  }
});
