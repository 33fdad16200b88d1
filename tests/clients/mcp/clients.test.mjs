// Clients of the Model Context Protocol of other projects list and call every tool, over HTTP and over stdio, at the newest
// revision and at older ones.
import assert from "node:assert/strict";

import { MODULE, PROVIDER, publishCatalogue } from "../support/catalogue.mjs";
import { asks, NEWEST, OLDER, TOOLS, transportsOf, unlessInstalled, uses, withClient, withSdk } from "../support/mcp.mjs";
import { useRegistry } from "../support/registry.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, describe, test } from "../support/testing.mjs";

/** A call of each tool. */
const CALLS = [
  { name: "search", arguments: { query: "network" } },
  { name: "get_module", arguments: { address: MODULE } },
  { name: "get_provider", arguments: { address: PROVIDER, version: "1.1.0" } },
  { name: "get_docs", arguments: { address: PROVIDER, version: "1.1.0", document: "resources/part" } },
  { name: "find_type", arguments: { name: "widget_part" } },
  { name: "list_versions", arguments: { address: MODULE } },
  { name: "compare_versions", arguments: { address: MODULE, from: "1.0.0", to: "1.2.0" } },
  { name: "check_versions", arguments: { packages: `${PROVIDER}@1.1.0` } },
  { name: "list_callers", arguments: { address: MODULE } },
  { name: "how_to_authenticate", arguments: {} },
];

describe("clients of the Model Context Protocol", () => {
  const registry = useRegistry();
  const directory = scratch();
  let expected;

  before(async () => {
    await publishCatalogue(registry, directory);
    const { http } = transportsOf(registry);
    const answers = [];
    for (const call of CALLS) answers.push(await uses(http, call.name, call.arguments));
    const { resources } = await asks(http, "resources/list");
    const { contents } = await asks(http, "resources/read", { uri: resources[0].uri });
    expected = { tools: TOOLS, answers, resources: resources.map(({ uri }) => uri), document: contents[0].text };
    assert.deepEqual(CALLS.map(({ name }) => name), TOOLS);
  });

  test("the answers of the tools that compare, check and find callers are about the published packages", () => {
    const [comparison, checked, callers] = ["compare_versions", "check_versions", "list_callers"].map((name) => expected.answers[TOOLS.indexOf(name)]);
    assert.deepEqual([comparison.from, comparison.to, comparison.breaking], ["1.0.0", "1.2.0", 1]);
    const changes = comparison.sections.flatMap((section) => section.changes);
    assert.deepEqual(changes.map(({ name, kind }) => `${kind} ${name}`), ["added owner"]);
    assert.deepEqual(checked.packages.map(({ state }) => state), ["active"]);
    assert.equal(callers.address, MODULE);
  });

  for (const transport of ["http", "stdio"]) {
    const target = () => transportsOf(registry)[transport];

    test(`the TypeScript SDK over ${transport} at revision ${OLDER}`, { skip: unlessInstalled("sdk") }, async () => {
      const found = await withSdk(target(), CALLS);
      // Over stdio the SDK does not tell which revision it has agreed on.
      assert.deepEqual({ ...found, revision: OLDER }, { ...expected, revision: found.revision ?? OLDER });
    });

    for (const mode of ["auto", { pin: NEWEST }]) {
      const name = typeof mode === "string" ? mode : "pinned";
      test(`the TypeScript SDK over ${transport} at the newest revision, ${name}`, { skip: unlessInstalled("client") }, async () => {
        const { revision, ...found } = await withClient(mode, target(), CALLS);
        assert.equal(revision, NEWEST);
        assert.deepEqual(found, expected);
      });
    }
  }
});
