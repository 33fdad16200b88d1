// The first steps of README's readers: the examples, published by the `terrace` command and used by the real
// clients.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { buildExamples } from "../../../examples/build.mjs";
import { terraformConfig } from "../../../scripts/lib/client-files.mjs";
import { root } from "../../../scripts/lib/paths.mjs";
import { withEachClient, withOldTerraform } from "../support/client.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { HERE } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, describe, test } from "../support/testing.mjs";

/** Only this file is used: `.terraform` and the lock file may exist, from trying the examples. */
const CONSUMER = join(root, "examples", "consumer", "main.tf");

describe("the examples", () => {
  inBothModes((mode) => {
    const registry = useRegistry({ mode });
    const directory = scratch();
    let examples;

    before(async () => {
      examples = await buildExamples({ stateDir: directory });
      const { namespace, publicKeyFile, providerDist, providerDocs, moduleDir, moduleAddress, moduleVersion } = examples;
      await registry.terrace(["key", "add", namespace, publicKeyFile]);
      await registry.terrace(["publish", "provider", providerDist, "--docs", providerDocs, "--require-docs", "--namespace", namespace]);
      await registry.terrace(["publish", "module", moduleDir, "--address", moduleAddress, "--version", moduleVersion]);
    });

    for (const withClients of [withEachClient, withOldTerraform]) withClients((client) => {
      test("init and apply in the consumer run the provider and the module, with the output that README shows", async (t) => {
        const config = terraformConfig(registry);
        const work = await client.workspace(t, registry, { "main.tf": await readFile(CONSUMER, "utf8") }, { config });
        await work.runs("init");
        assert.deepEqual(await work.outputs(), {
          from_module: "Welcome, Ada.",
          from_provider: "Hello, Ada!",
          from_submodule: "HELLO, ADA!",
          provider: `${examples.providerVersion} ${HERE}`,
        });
        await work.remove(".terraform");
        await work.runs("init", "-lockfile=readonly");
        await work.runs("get", "-update");
        assert.equal((await work.outputs()).from_provider, "Hello, Ada!");
      });
    });

    test("the documentation of the examples has nothing to correct", async () => {
      for (const [directory, expected] of [
        [examples.providerDocs, { pages: 2 }],
        [examples.moduleDir, { inputs: 2, outputs: 2, submodules: 1, examples: 0 }],
      ]) {
        assert.deepEqual((await registry.report(["docs", "check", directory])).documentation, expected);
      }
    });
  });
});
