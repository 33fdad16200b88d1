// The Model Context Protocol: an assistant finds a module and reads about it.
import assert from "node:assert/strict";

import { asks, TOOLS, uses } from "../clients/support/mcp.mjs";
import { module, saying } from "../clients/support/releases.mjs";
import { before, describe, test } from "../clients/support/testing.mjs";
import { smokeRegistry } from "./support/server.mjs";

const ADDRESS = "assistants/network/aws";

describe("the Model Context Protocol", () => {
  const registry = smokeRegistry();

  before(() => registry.publishes(module({ address: ADDRESS, version: "1.0.0", files: saying(ADDRESS) })));

  test("an assistant lists the tools, and finds the version of a module", async () => {
    const target = { url: `${registry.url}/mcp` };
    const { tools } = await asks(target, "tools/list");
    assert.deepEqual(tools.map(({ name }) => name), TOOLS);
    const found = await uses(target, "list_versions", { address: ADDRESS });
    assert.deepEqual(found.details.versions.map(({ version }) => version), ["1.0.0"], JSON.stringify(found));
  });
});
