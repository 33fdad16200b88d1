// The recipe of docs/serving.md: providers are mirrored on a connected machine, carried as a directory, and served where no
// other server can be reached.
import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { join } from "node:path";

import { hostBlock, networkMirror, onlyLinux, usingProvider, withEachClient } from "../support/client.mjs";
import { registryOf, useRegistry } from "../support/registry.mjs";
import { runs } from "../support/programs.mjs";
import { ELSEWHERE, HERE, provider } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { before, test } from "../support/testing.mjs";

/** The origin's hostname in source addresses. */
const ORIGIN = "origin.test";
const SOURCE = `${ORIGIN}/acme/hello`;

withEachClient((client) => {
  const directory = scratch();
  const origin = useRegistry({ https: true });
  const connected = useRegistry();
  const copy = join(directory, "copy");
  let key;

  before(async () => {
    key = await origin.trusts("acme");
    for (const version of ["1.0.0", "1.1.0"]) await origin.publishes(provider({ address: "acme/hello", version, key }));
  });

  /** Runs `terrace` for the registry on the connected machine, or another one. */
  const terrace = async (args, registry = connected) =>
    (await registry.terrace(args, { env: { SSL_CERT_FILE: origin.env.SSL_CERT_FILE, ...registry.env } })).stdout.toString();

  /** Mirrors the providers of a project, and writes everything into the directory to carry. */
  async function carry(project) {
    await terrace(["mirror", "sync", project, "--platform", HERE, "--platform", ELSEWHERE, "--origin", `${ORIGIN}=${origin.url}`]);
    await terrace(["admin", "export", copy]);
    await runs("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: copy });
  }

  /** A project whose client is connected, and reaches the origin itself. */
  function outside(t, version, files = {}) {
    const config = hostBlock(origin, ORIGIN);
    const all = { "main.tf": usingProvider(SOURCE, version), ...files };
    return client.workspace(t, origin, all, { config });
  }

  const LOCK = ".terraform.lock.hcl";

  test("a carried directory serves the providers without their origin, and lock files work on both sides", { skip: onlyLinux }, async (t) => {
    const first = await outside(t, "1.0.0");
    await first.runs("init");
    const locked = await first.read(LOCK);
    await carry(first.directory);

    // The copy itself is served, on a machine that reaches neither the origin nor the connected machine.
    const inside = await carried(t, copy);
    await Promise.all([origin.stop(), connected.stop()]);
    assert.match(await terrace(["admin", "verify"], inside), /are intact/);
    const network = { config: networkMirror(inside) };
    const project = (version, files) => client.workspace(t, inside, { "main.tf": usingProvider(SOURCE, version), ...files }, network);
    const there = await project("1.0.0", { [LOCK]: locked });
    await there.runs("init", "-lockfile=readonly");

    // The mirror states both kinds of checksums. Of a mirror, OpenTofu locks both, and Terraform only h1.
    const { archives } = await inside.json(`/mirror/${SOURCE}/1.0.0.json`);
    for (const { hashes } of Object.values(archives)) assert.deepEqual(hashes.map((hash) => hash.slice(0, 3)).sort(), ["h1:", "zh:"]);
    const fresh = await project("1.0.0");
    await fresh.runs("init");
    await fresh.runs("providers", "lock", `-net-mirror=${inside.url}/mirror/`, `-platform=${HERE}`, `-platform=${ELSEWHERE}`);
    assert.equal((await fresh.lockedHashes()).h1.length, 2);
    for (const registry of [origin, connected]) await registry.restart({ port: registry.port });
    const back = await outside(t, "1.0.0", { [LOCK]: await fresh.read(LOCK) });
    await back.runs("init", "-lockfile=readonly");

    // Later versions are carried in the same directory, and imported without an interruption.
    const second = await outside(t, "1.1.0");
    await second.runs("init");
    await carry(second.directory);
    await Promise.all([origin.stop(), connected.stop()]);
    await terrace(["admin", "import", copy], inside);
    const newer = await project("1.1.0", { [LOCK]: await second.read(LOCK) });
    await newer.runs("init", "-lockfile=readonly");
  });

  /** Starts a registry on a copy of the directory. */
  async function carried(t, from) {
    const stateDir = scratch(t, { quick: true });
    await cp(from, join(stateDir, "registry"), { recursive: true });
    return registryOf(t, { https: true, stateDir });
  }
});
