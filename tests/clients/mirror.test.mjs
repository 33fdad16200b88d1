// The network mirror, by the real clients over TLS: providers of this registry and of another one, and their lock files.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import tls from "node:tls";

import { usingProvider, withEachClient } from "./support/client.mjs";
import { inBothModes, useRegistry } from "./support/registry.mjs";
import { ELSEWHERE, HERE, mirrored, provider } from "./support/releases.mjs";
import { scratch } from "./support/scratch.mjs";
import { newKey } from "./support/signing.mjs";
import { before, test } from "./support/testing.mjs";

/** SSL_CERT_FILE is Go's way to name a CA on Linux; elsewhere Go asks the system. */
const skip = process.platform === "linux" ? false : "SSL_CERT_FILE works on Linux only";

/** A registry that nobody can reach: whatever is installed from it comes from the mirror. */
const ORIGIN = "origin.invalid";

const networkMirror = (url) => `  network_mirror {\n    url = "${url}"\n  }\n`;
const installedBy = (...methods) => `provider_installation {\n${methods.join("")}}\n`;

withEachClient((client) => {
  inBothModes((mode) => {
    const registry = useRegistry({ mode, https: true });
    const keyDirectory = scratch();
    let url;
    let key;

    before(async () => {
      url = `${registry.url}/mirror/`;
      tls.setDefaultCACertificates([await readFile(registry.env.SSL_CERT_FILE, "utf8")]);
      key = await newKey(keyDirectory);
      await registry.trusts("acme", key);
      await registry.publishes(
        provider({ address: "acme/hello", version: "1.0.0", key }),
        mirrored(ORIGIN, key, provider({ address: "acme/widget", version: "1.0.0", key })),
        mirrored(ORIGIN, key, provider({ address: "acme/widget", version: "1.2.0+b.1", key })),
        mirrored(ORIGIN, null, provider({ address: "acme/pushed", version: "1.0.0", key })),
        mirrored(ORIGIN, null, provider({ address: "acme/elsewhere", version: "1.0.0", key, platforms: [ELSEWHERE] })),
      );
    });

    const work = (t, source, version, config = installedBy(networkMirror(url))) =>
      client.workspace(t, registry, { "main.tf": usingProvider(source, version) }, { config, env: { SSL_CERT_FILE: registry.env.SSL_CERT_FILE } });

    for (const [what, source, version] of [
      ["hosted here", "127.0.0.1/acme/hello", "1.0.0"],
      ["mirrored with its signature", `${ORIGIN}/acme/widget`, "1.2.0+b.1"],
      ["mirrored without one", `${ORIGIN}/acme/pushed`, "1.0.0"],
    ]) {
      test(`a provider ${what} is installed from the mirror alone, and again from the lock file (5.2, 5.4, 5.9)`, { skip }, async (t) => {
        const found = await work(t, source, version);
        const { said } = await found.runs("init");
        assert.match(said, new RegExp(`Installed ${source} v${version.replaceAll(/[.+]/g, "\\$&")} \\((verified checksum|unauthenticated)\\)`));
        assert.equal((await found.lockedHashes()).h1.length, 1);
        await found.remove(".terraform");
        await found.runs("init", "-lockfile=readonly");
      });
    }

    test("the newest version that fits is chosen from the index (5.3)", { skip }, async (t) => {
      const found = await work(t, `${ORIGIN}/acme/widget`, "~> 1.0.0");
      assert.match((await found.runs("init")).said, /widget v1\.0\.0/);
    });

    test("a lock file with the origin's zh hashes accepts the mirror's bytes (5.10)", { skip }, async (t) => {
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

    test("beside direct, the mirror has what the origin cannot give, and the origin's failure is not the mirror's (5.7)", { skip }, async (t) => {
      const direct = `  direct {\n    exclude = ["${ORIGIN}/*/*"]\n  }\n`;
      const found = await work(t, `${ORIGIN}/acme/pushed`, "1.0.0", installedBy(networkMirror(url), direct));
      await found.runs("init");
    });

    test("what the mirror has not is looked for elsewhere: 404 is no error (5.5)", { skip }, async (t) => {
      const config = installedBy(networkMirror(url), "  direct {}\n");
      const host = new URL(registry.url).host;
      const found = await work(t, `${host}/acme/hello`, "1.0.0", installedBy(`  network_mirror {\n    url = "${url}"\n    include = ["${ORIGIN}/*/*"]\n  }\n`, "  direct {}\n"));
      await found.runs("init");
      const nowhere = await work(t, `${ORIGIN}/acme/nothing`, "1.0.0", config);
      assert.match(await nowhere.fails("init"), /acme\/nothing/);
    });

    test("a platform that is not mirrored is named", { skip }, async (t) => {
      const found = await work(t, `${ORIGIN}/acme/elsewhere`, "1.0.0");
      assert.match(await found.fails("init"), new RegExp(HERE));
    });

    test("a URL without its final slash stops the client with the URL it asked (5.1)", { skip }, async (t) => {
      const found = await work(t, `${ORIGIN}/acme/widget`, "1.0.0", installedBy(networkMirror(url.slice(0, -1))));
      assert.match(await found.fails("init"), /400 Bad Request|status code 400|unsuccessful status 400|HTTP.*400/);
    });

    test("what this registry publishes is written into a directory by providers mirror (5.11)", { skip }, async (t) => {
      const host = new URL(registry.url).host;
      const found = await work(t, `${host}/acme/hello`, "1.0.0", "");
      await found.runs("providers", "mirror", `-platform=${HERE}`, `-platform=${ELSEWHERE}`, "out");
      const written = JSON.parse(await found.read(`out/${host}/acme/hello/1.0.0.json`));
      assert.deepEqual(Object.keys(written.archives).sort(), [HERE, ELSEWHERE].sort());
    });
  });
});
