// Clients of the Model Context Protocol of other projects list and call every tool, over HTTP and over stdio, at the newest
// revision and at older ones.
import assert from "node:assert/strict";

import { MODULE, PROVIDER, publishCatalogue } from "../support/catalogue.mjs";
import { asks, inspect, NEWEST, OLDER, TOOLS, transportsOf, unlessInstalled, uses, withClient, withGo, withSdk } from "../support/mcp.mjs";
import { unlessOnPath } from "../support/programs.mjs";
import { isNative, useRegistry } from "../support/registry.mjs";
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

  test("the answers are those about the published packages", () => {
    const [search, module, provider, docs, types, versions, comparison, access] = expected.answers;
    assert.ok(search.results.some(({ address }) => address === MODULE));
    assert.equal(module.version, "1.2.0");
    assert.deepEqual(module.inputs.filter((it) => it.is_required).map(({ name }) => name), ["name", "owner"]);
    assert.ok(provider.documents.some(({ document }) => document === "resources/part"));
    assert.match(docs.text, /A part belongs to one widget/);
    assert.ok(types.types.some(({ provider: address, document }) => address === PROVIDER && document === "resources/part"));
    assert.equal(versions.versions.find(({ version }) => version === "1.3.0").status.state, "revoked");
    assert.deepEqual(comparison.changes.map(({ name, change }) => `${change} ${name}`), ["added owner"]);
    assert.equal(comparison.breaking, 1);
    assert.equal(access.registry, new URL(registry.url).host);
  });

  for (const [place, transport] of ["http", "stdio"].entries()) {
    const target = () => transportsOf(registry)[transport];

    test(`the TypeScript SDK over ${transport} at revision ${OLDER}`, { skip: unlessInstalled("sdk") }, async () => {
      const found = await withSdk(OLDER, target(), CALLS);
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

    for (const revision of [NEWEST, OLDER]) {
      test(`the Go SDK over ${transport} at revision ${revision}`, { skip: unlessOnPath("mcp-go-client") }, async () => {
        const found = await withGo(revision, target(), CALLS);
        assert.deepEqual(found, { revision, ...expected });
      });
    }

    for (const [at, era] of ["modern", "legacy"].entries()) {
      // Each call is a process, and takes a second. On the native host, each tool is called in one of the four ways.
      const calls = CALLS.filter((_, number) => !isNative || number % 4 === 2 * place + at);
      test(`the command line of the inspector over ${transport}, ${era}`, { skip: unlessInstalled("inspector") }, async () => {
        const { tools } = await inspect(era, target(), "--method", "tools/list", "--strict");
        assert.deepEqual(tools.map(({ name }) => name), TOOLS);
        for (const { name, arguments: args } of calls) {
          const pairs = Object.entries(args).flatMap(([key, value]) => ["--tool-arg", `${key}=${value}`]);
          const answer = await inspect(era, target(), "--method", "tools/call", "--tool-name", name, ...pairs);
          assert.deepEqual(answer.structuredContent, expected.answers[TOOLS.indexOf(name)], name);
        }
      });
    }
  }
});
