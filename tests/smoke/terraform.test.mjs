// terraform installs a provider and a module at presigned URLs.
import assert from "node:assert/strict";

import { Client, HOST, usingModule, usingProvider } from "../clients/support/client.mjs";
import { module, provider, saying } from "../clients/support/releases.mjs";
import { before, describe, test } from "../clients/support/testing.mjs";
import { smokeRegistry } from "./support/server.mjs";

const NAMESPACE = "terraform";
describe("terraform", () => {
  const registry = smokeRegistry();

  before(async () => {
    const key = await registry.trusts(NAMESPACE);
    await registry.publishes(
      provider({ address: `${NAMESPACE}/hello`, version: "1.0.0", key }),
      module({ address: `${NAMESPACE}/greeting/aws`, version: "1.0.0", files: saying(NAMESPACE) }),
    );
  });

  test("init verifies and installs both", async (t) => {
    const source = `${HOST}/${NAMESPACE}/hello`;
    const files = { "main.tf": usingModule(`${HOST}/${NAMESPACE}/greeting/aws`, "1.0.0"), "provider.tf": usingProvider(source, "1.0.0") };
    const work = await new Client("terraform").workspace(t, registry, files);
    const { said } = await work.runs("init");
    assert.match(said, new RegExp(`Installed terrace\\.test/${NAMESPACE}/hello v1\\.0\\.0 \\(self-signed`));
    assert.match(said, new RegExp(`terrace\\.test/${NAMESPACE}/greeting/aws 1\\.0\\.0 for wanted`));
  });
});
