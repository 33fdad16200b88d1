// Providers, installed by the real clients over plain HTTP.
import assert from "node:assert/strict";

import { HOST, usingProvider, withEachClient } from "../support/client.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { HERE, provider } from "../support/releases.mjs";
import { before, test } from "../support/testing.mjs";

const digests = ({ body }) => body.shasums.trim().split("\n").map((line) => line.split(" ")[0]).sort();

inBothModes((mode) => {
  const registry = useRegistry({ mode });
  const releases = {};
  let key;

  before(async () => {
    key = await registry.trusts("acme");
    for (const version of ["1.0.0", "1.2.0", "2.0.0-beta.1"]) {
      releases[version] = await provider({ address: "acme/hello", version, key });
      await registry.publishes(releases[version]);
    }
  });

  withEachClient((client) => {
    test("init installs the newest version, and every digest of SHA256SUMS is locked (9)", async (t) => {
      const work = await client.workspace(t, registry, { "main.tf": usingProvider(`${HOST}/acme/hello`, ">= 1.0") });
      const { said } = await work.runs("init");
      assert.match(said, /Installed terrace\.test\/acme\/hello v1\.2\.0/);
      const program = await work.read(`.terraform/providers/${HOST}/acme/hello/1.2.0/${HERE}/terraform-provider-hello_v1.2.0`);
      assert.match(program, new RegExp(`hello 1.2.0 for ${HERE}`));
      const locked = await work.lockedHashes();
      assert.deepEqual(locked.zh.sort(), digests(releases["1.2.0"]));
      assert.equal(locked.h1.length, 1);
    });

    test("a second init installs the locked version, although there is a newer one, and init -upgrade the newer one", async (t) => {
      const work = await client.workspace(t, registry, { "main.tf": usingProvider(`${HOST}/acme/hello`, "1.0.0") });
      await work.runs("init");
      await work.write("main.tf", usingProvider(`${HOST}/acme/hello`, ">= 1.0"));
      await work.remove(".terraform");
      assert.match((await work.runs("init")).said, /Installed terrace\.test\/acme\/hello v1\.0\.0/);
      assert.match((await work.runs("init", "-upgrade")).said, /Installed terrace\.test\/acme\/hello v1\.2\.0/);
    });

    test("a prerelease is installed if its exact version is required (2.1.4)", async (t) => {
      const work = await client.workspace(t, registry, { "main.tf": usingProvider(`${HOST}/acme/hello`, "2.0.0-beta.1") });
      const { said } = await work.runs("init");
      assert.match(said, /Installed terrace\.test\/acme\/hello v2\.0\.0-beta\.1/);
    });

    test("an address in upper case is the same address (2.1.7)", async (t) => {
      const work = await client.workspace(t, registry, { "main.tf": usingProvider(`${HOST}/ACME/Hello`, "1.2.0") });
      await work.runs("init");
    });

    test("an unpublished platform is reported (2.2.1)", async (t) => {
      const work = await client.workspace(t, registry, { "main.tf": usingProvider(`${HOST}/acme/hello`, "1.2.0") });
      assert.match(await work.fails("providers", "lock", "-platform=plan9_386"), /plan9_386/);
    });

    test("a package whose bytes were changed in the bucket is refused (2.3)", async (t) => {
      const release = await provider({ address: `acme/changed-${client.name}`, version: "1.0.0", key });
      await registry.publishes(release);
      for (const [digest, bytes] of release.archives) {
        const changed = Buffer.from(bytes);
        changed[changed.length >> 1] ^= 1;
        await registry.overwrite(`archives/${digest}.zip`, changed);
      }
      const work = await client.workspace(t, registry, { "main.tf": usingProvider(`${HOST}/acme/changed-${client.name}`, "1.0.0") });
      assert.match(await work.fails("init"), /checksum/);
    });
  });
});
