// Providers of one registry, mirrored by address into another one, and installed from there.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { hostBlock, networkMirror, onlyLinux, usingProvider, withEachClient } from "../support/client.mjs";
import { useRegistry } from "../support/registry.mjs";
import { ELSEWHERE, HERE, provider } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, test } from "../support/testing.mjs";

/** The origin's hostname in source addresses. */
const ORIGIN = "origin.test";

withEachClient((client) => {
  const origin = useRegistry({ https: true });
  const mirror = useRegistry({ https: true });
  const directory = scratch();
  let authorities;
  let key;

  before(async () => {
    const texts = await Promise.all([origin, mirror].map(({ env }) => readFile(env.SSL_CERT_FILE, "utf8")));
    authorities = join(directory, "authorities.pem");
    await writeFile(authorities, texts.join("\n"));
    key = await origin.trusts("acme");
    for (const version of ["1.0.0", "1.1.0"]) await origin.publishes(provider({ address: "acme/hello", version, key }));
  });

  const terrace = (...args) => mirror.report(args, { env: { SSL_CERT_FILE: authorities } });

  const mirrors = (...args) => terrace("mirror", ...args, "--origin", `${ORIGIN}=${origin.url}`);

  /** The configuration of a client that reaches the origin itself. */
  const atOrigin = () => ({ config: hostBlock(origin, ORIGIN), env: { SSL_CERT_FILE: authorities } });

  const installing = (t, version, files = {}) =>
    client.workspace(t, mirror, { "main.tf": usingProvider(`${ORIGIN}/acme/hello`, version), ...files }, { config: networkMirror(mirror), env: { SSL_CERT_FILE: authorities } });

  /** Installs from the origin itself, and returns the lock file. */
  async function lockedAtOrigin(t, version) {
    const work = await client.workspace(t, origin, { "main.tf": usingProvider(`${ORIGIN}/acme/hello`, version) }, atOrigin());
    await work.runs("init");
    return work.read(".terraform.lock.hcl");
  }

  const statuses = ({ versions }) => versions.map(({ version, status }) => `${version} ${status}`);

  test("mirror add mirrors the matching versions once, with the origin's signature", { skip: onlyLinux }, async (t) => {
    const dry = await mirrors("add", `${ORIGIN}/acme/hello`, "--versions", "~> 1.0", "--dry-run");
    assert.equal(dry.versions.length, 2);
    await assert.rejects(mirror.json(`/mirror/${ORIGIN}/acme/hello/index.json`), /404/);

    assert.deepEqual(statuses(await mirrors("add", `${ORIGIN}/acme/hello`, "--versions", "~> 1.0")), ["1.0.0 created", "1.1.0 created"]);
    assert.deepEqual(statuses(await mirrors("add", `${ORIGIN}/acme/hello`, "--versions", "~> 1.0")), ["1.0.0 unchanged", "1.1.0 unchanged"]);

    const work = await installing(t, "1.0.0", { ".terraform.lock.hcl": await lockedAtOrigin(t, "1.0.0") });
    await work.runs("init");
    await work.remove(".terraform.lock.hcl");
    await work.remove(".terraform");
    await work.runs("init");
    await work.remove(".terraform");
    await work.runs("init", "-lockfile=readonly");
  });

  test("a directory of providers mirror is pushed, and a second push uploads nothing (5.11)", { skip: onlyLinux }, async (t) => {
    const work = await client.workspace(t, origin, { "main.tf": usingProvider(`${ORIGIN}/acme/pushed`, "1.0.0") }, atOrigin());
    await origin.publishes(provider({ address: "acme/pushed", version: "1.0.0", key }));
    await work.runs("providers", "mirror", `-platform=${HERE}`, `-platform=${ELSEWHERE}`, "out");
    // Both commands give the same result.
    const out = join(work.directory, "out");
    assert.deepEqual(statuses(await terrace("admin", "import", out)), ["1.0.0 created"]);
    assert.deepEqual(statuses(await terrace("mirror", "push", out)), ["1.0.0 unchanged"]);
  });
});
