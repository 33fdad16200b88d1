// OCI Distribution with OpenTofu and clients of other projects: published packages are artifacts.
import assert from "node:assert/strict";

import { ociMirror, onlyLinux, usingModule, usingProvider, withEachClient } from "../support/client.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { mirrored, module, provider, saying } from "../support/releases.mjs";
import { before, test } from "../support/testing.mjs";

/** An unreachable registry, so everything installed under this name comes from here. */
const ORIGIN = "origin.invalid";

function useArtifacts(mode) {
  const registry = useRegistry({ mode, https: true });
  before(async () => {
    const key = await registry.trusts("acme");
    await registry.publishes(
      ...["1.0.0", "1.2.0+b.1"].map((version) => provider({ address: "acme/hello", version, key })),
      mirrored(ORIGIN, key, provider({ address: "acme/widget", version: "1.0.0", key })),
      module({ address: "acme/greeting/local", version: "1.0.0", files: saying("hello") }),
      module({ address: "acme/greeting/local", version: "1.1.0", files: { "sub/main.tf": saying("sub")["main.tf"] }, subdir: "sub" }),
    );
  });
  return registry;
}

withEachClient((client) => {
  if (client.name !== "tofu") return;
  inBothModes((mode) => {
    const registry = useArtifacts(mode);

    const work = (t, files) => client.workspace(t, registry, files, { config: ociMirror(registry) });

    for (const [what, source, version] of [
      ["hosted", "127.0.0.1/acme/hello", "1.2.0+b.1"],
      ["mirrored", `${ORIGIN}/acme/widget`, "1.0.0"],
    ]) {
      test(`a ${what} provider is installed only by oci_mirror, and again from the lock file (6.6, 6.13)`, { skip: onlyLinux }, async (t) => {
        const found = await work(t, { "main.tf": usingProvider(source, version) });
        const { said } = await found.runs("init");
        assert.match(said, new RegExp(`Installed ${source} v${version.replaceAll(/[.+]/g, "\\$&")}`));
        assert.equal((await found.lockedHashes()).zh.length, 1);
        await found.remove(".terraform");
        await found.runs("init", "-lockfile=readonly");
      });
    }

    test("the newest matching version is selected from the tags (6.3)", { skip: onlyLinux }, async (t) => {
      const found = await work(t, { "main.tf": usingProvider("127.0.0.1/acme/hello", "~> 1.0.0") });
      assert.match((await found.runs("init")).said, /hello v1\.0\.0/);
    });

    test("a provider that the mirror lacks is installed from elsewhere (6.4)", { skip: onlyLinux }, async (t) => {
      const found = await work(t, { "main.tf": usingProvider(`${ORIGIN}/acme/nothing`, "1.0.0") });
      assert.match(await found.fails("init"), /acme\/nothing/);
    });

    test("a module is installed by oci:// (6.7)", { skip: onlyLinux }, async (t) => {
      const source = `oci://${registry.host}/modules/acme/greeting/local`;
      const found = await work(t, { "main.tf": usingModule(`${source}?tag=1.0.0`) });
      await found.runs("init");
      assert.deepEqual(await found.outputs(), { says: "hello" });
      const below = await work(t, { "main.tf": usingModule(`${source}//sub?tag=1.1.0`) });
      await below.runs("init");
      assert.deepEqual(await below.outputs(), { says: "sub" });
    });
  });
});
