// Modules, installed by the real clients over plain HTTP.
import assert from "node:assert/strict";

import { HOST, usingModule, withEachClient } from "../support/client.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { module, saying } from "../support/releases.mjs";
import { before, test } from "../support/testing.mjs";

/** A module that calls one of its own directories, which calls its sibling. */
const NESTED = {
  "main.tf": 'module "outer" {\n  source = "./modules/outer"\n}\n\noutput "says" {\n  value = module.outer.says\n}\n',
  "modules/outer/main.tf": 'module "inner" {\n  source = "../inner"\n}\n\noutput "says" {\n  value = "outer ${module.inner.says}"\n}\n',
  "modules/inner/main.tf": 'output "says" {\n  value = "inner"\n}\n',
};

/** The same module in a subdirectory of the archive. */
const BELOW = Object.fromEntries(Object.entries(NESTED).map(([name, text]) => [`src/terraform/${name}`, text]));

inBothModes((mode) => {
  const registry = useRegistry({ mode });

  before(() =>
    registry.publishes(
      module({ address: "acme/plain/aws", version: "1.0.0", files: saying("one") }),
      module({ address: "acme/zip/aws", version: "1.0.0", files: NESTED }),
      module({ address: "acme/tar/aws", version: "1.0.0", files: NESTED, format: "tar.gz" }),
      module({ address: "acme/below/aws", version: "1.0.0", files: BELOW, subdir: "src/terraform" }),
      module({ address: "Acme/Case_Matters/aws", version: "1.0.0", files: saying("as written") }),
    ),
  );

  withEachClient((client) => {
    /** Returns the outputs of a configuration with only this module. */
    async function says(t, source, version) {
      const work = await client.workspace(t, registry, { "main.tf": usingModule(source, version) });
      await work.runs("init");
      return (await work.outputs()).says;
    }

    for (const format of ["zip", "tar"]) {
      test(`a ${format} archive is installed with its relative sources`, async (t) => {
        assert.equal(await says(t, `${HOST}/acme/${format}/aws`, "1.0.0"), "outer inner");
      });

      test(`a submodule of a ${format} archive is installed with its sources in other directories`, async (t) => {
        assert.equal(await says(t, `${HOST}/acme/${format}/aws//modules/outer`, "1.0.0"), "outer inner");
      });
    }

    test("a module published from a subdirectory is installed (3.8)", async (t) => {
      assert.equal(await says(t, `${HOST}/acme/below/aws`, "1.0.0"), "outer inner");
    });

    test("the caller's subdirectory is joined with the published one (3.8)", async (t) => {
      assert.equal(await says(t, `${HOST}/acme/below/aws//modules/inner`, "1.0.0"), "inner");
    });

    test("names are installed in the case in which they were published (3.10)", async (t) => {
      assert.equal(await says(t, `${HOST}/Acme/Case_Matters/aws`, "1.0.0"), "as written");
    });

    test("an archive whose bytes were changed in the bucket is refused (4.7)", async (t) => {
      const address = `acme/changed-${client.name}/aws`;
      const original = module({ address, version: "1.0.0", files: saying(`good for ${client.name}`) });
      const other = module({ address, version: "1.0.0", files: saying("evil") });
      await registry.publishes(original);
      const [[digest]] = original.archives;
      const [[, bytes]] = other.archives;
      await registry.overwrite(`archives/${digest}.zip`, bytes);
      const work = await client.workspace(t, registry, { "main.tf": usingModule(`${HOST}/${address}`, "1.0.0") });
      assert.match(await work.fails("init"), /Checksums did not match/);
    });

    test("an unpublished module is not found (3.3)", async (t) => {
      const work = await client.workspace(t, registry, { "main.tf": usingModule(`${HOST}/acme/nothing/aws`, "1.0.0") });
      assert.match(await work.fails("init"), /Module .*"wanted".* cannot be found in the module registry/);
    });
  });
});
