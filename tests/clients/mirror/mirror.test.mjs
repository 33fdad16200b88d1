// The network mirror with the real clients over TLS: providers of this registry and of another one, and their
// lock files.
import assert from "node:assert/strict";

import { onlyLinux, usingProvider, withEachClient } from "../support/client.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { ELSEWHERE, HERE, mirrored, provider } from "../support/releases.mjs";
import { before, test } from "../support/testing.mjs";

/** An unreachable registry, so everything installed under this name comes from the mirror. */
const ORIGIN = "origin.invalid";

const networkMirror = (url) => `  network_mirror {\n    url = "${url}"\n  }\n`;
const installedBy = (...methods) => `provider_installation {\n${methods.join("")}}\n`;

inBothModes((mode) => {
  const registry = useRegistry({ mode, https: true });
  let url;
  let key;

  before(async () => {
    url = `${registry.url}/mirror/`;
    key = await registry.trusts("acme");
    await registry.publishes(
      provider({ address: "acme/hello", version: "1.0.0", key }),
      mirrored(ORIGIN, key, provider({ address: "acme/widget", version: "1.0.0", key })),
      mirrored(ORIGIN, key, provider({ address: "acme/widget", version: "1.2.0+b.1", key })),
      mirrored(ORIGIN, null, provider({ address: "acme/pushed", version: "1.0.0", key })),
      mirrored(ORIGIN, null, provider({ address: "acme/elsewhere", version: "1.0.0", key, platforms: [ELSEWHERE] })),
    );
  });

  withEachClient((client) => {
    const work = (t, source, version, config = installedBy(networkMirror(url))) =>
      client.workspace(t, registry, { "main.tf": usingProvider(source, version) }, { config });

    for (const [what, source, version] of [
      ["hosted here", "127.0.0.1/acme/hello", "1.0.0"],
      ["mirrored with a signature", `${ORIGIN}/acme/widget`, "1.2.0+b.1"],
      ["mirrored without a signature", `${ORIGIN}/acme/pushed`, "1.0.0"],
    ]) {
      test(`a provider ${what} is installed only from the mirror, and again from the lock file (5.2, 5.4, 5.9)`, { skip: onlyLinux }, async (t) => {
        const found = await work(t, source, version);
        const { said } = await found.runs("init");
        assert.match(said, new RegExp(`Installed ${source} v${version.replaceAll(/[.+]/g, "\\$&")} \\((verified checksum|unauthenticated)\\)`));
        assert.equal((await found.lockedHashes()).h1.length, 1);
        await found.remove(".terraform");
        await found.runs("init", "-lockfile=readonly");
      });
    }

    test("the newest matching version is selected from the index (5.3)", { skip: onlyLinux }, async (t) => {
      const found = await work(t, `${ORIGIN}/acme/widget`, "~> 1.0.0");
      assert.match((await found.runs("init")).said, /widget v1\.0\.0/);
    });

    test("a lock file with the origin's zh hashes accepts the mirror's bytes (5.10)", { skip: onlyLinux }, async (t) => {
      const found = await work(t, `${ORIGIN}/acme/widget`, "1.0.0");
      const { body } = await provider({ address: "acme/widget", version: "1.0.0", key });
      const hashes = body.packages.map(({ sha256 }) => `    "zh:${sha256}",\n`).join("");
      const locked = `provider "${ORIGIN}/acme/widget" {\n  version     = "1.0.0"\n  constraints = "1.0.0"\n  hashes = [\n${hashes}  ]\n}\n`;
      await found.write(".terraform.lock.hcl", locked);
      await found.runs("init");
      await found.write(".terraform.lock.hcl", locked.replaceAll(/zh:..../g, "zh:0000"));
      await found.remove(".terraform");
      assert.match(await found.fails("init"), /doesn't match any of the checksums|does not match any of the checksums/);
    });

    test("a mirror beside direct serves providers that the origin cannot, and a failure of the origin does not affect it (5.7)", { skip: onlyLinux }, async (t) => {
      const direct = `  direct {\n    exclude = ["${ORIGIN}/*/*"]\n  }\n`;
      const found = await work(t, `${ORIGIN}/acme/pushed`, "1.0.0", installedBy(networkMirror(url), direct));
      await found.runs("init");
    });

    test("a provider that the mirror lacks is installed from elsewhere: 404 is not an error (5.5)", { skip: onlyLinux }, async (t) => {
      const host = registry.host;
      const some = `  network_mirror {\n    url = "${url}"\n    include = ["${ORIGIN}/*/*"]\n  }\n`;
      await (await work(t, `${host}/acme/hello`, "1.0.0", installedBy(some, "  direct {}\n"))).runs("init");
      const nowhere = await work(t, `${ORIGIN}/acme/nothing`, "1.0.0", installedBy(networkMirror(url), "  direct {}\n"));
      assert.match(await nowhere.fails("init"), /acme\/nothing/);
    });

    test("a missing platform is reported", { skip: onlyLinux }, async (t) => {
      const found = await work(t, `${ORIGIN}/acme/elsewhere`, "1.0.0");
      assert.match(await found.fails("init"), new RegExp(HERE));
    });

    test("a URL without its final slash is reported with the requested URL (5.1)", { skip: onlyLinux }, async (t) => {
      const found = await work(t, `${ORIGIN}/acme/widget`, "1.0.0", installedBy(networkMirror(url.slice(0, -1))));
      assert.match(await found.fails("init"), /400 Bad Request|status code 400|unsuccessful status 400|HTTP.*400/);
    });
  });
});
