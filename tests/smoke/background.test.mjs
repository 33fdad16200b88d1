// Work that the Worker does after its response, or without a request.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";

import { until } from "../../scripts/lib/wait.mjs";
import { module, saying } from "../clients/support/releases.mjs";
import { describe, test } from "../clients/support/testing.mjs";
import { smokeRegistry } from "./support/server.mjs";

describe("work beside requests", () => {
  const registry = smokeRegistry();

  const eventually = async (isSo, told) => assert.ok(await until(isSo, { pause: 100 }), told);

  test("a published module is in the catalogue a moment later: on the page of its namespace, and in a search", async () => {
    const publishes = (name) => registry.publishes(module({ address: `background/${name}/aws`, version: "1.0.0", files: saying(name) }));
    const lists = async (name) => (await (await registry.request("/namespaces/background")).text()).includes(`/modules/background/${name}/aws`);
    // A reader creates a catalogue that is missing, but not one that lacks a package.
    for (const name of ["first", "second"]) {
      await publishes(name);
      await eventually(() => lists(name), `the namespace does not list ${name}`);
    }
    const { results } = await registry.json("/api/v1/search?q=second&namespace=background");
    assert.deepEqual(results.map(({ address }) => address), ["background/second/aws"]);
  });

  test("the scheduled event takes a step of the repair", async () => {
    const event = await registry.request("/cdn-cgi/handler/scheduled");
    assert.equal(event.status, 200, await event.text());
    await eventually(async () => /repair: [1-9]\d* checked/.test(await readFile(registry.logFile, "utf8")), "the log has no step of the repair");
  });
});
