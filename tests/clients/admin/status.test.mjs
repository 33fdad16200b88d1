// The status of a release after its publish, and the messages about it to users of the real clients.
import assert from "node:assert/strict";

import { HOST, usingProvider, withEachClient } from "../support/client.mjs";
import { useRegistry } from "../support/registry.mjs";
import { provider } from "../support/releases.mjs";
import { before, describe, test } from "../support/testing.mjs";

describe("the status of a release", () => {
  const registry = useRegistry();
  let count = 0;
  before(async () => {
    registry.key = await registry.trusts("acme");
  });

  /** Publishes a new provider with these versions for a test; returns its type. */
  async function published(...versions) {
    const type = `hello${count++}`;
    for (const version of versions) await registry.publishes(provider({ address: `acme/${type}`, version, key: registry.key }));
    return type;
  }

  async function say(address, state, reason) {
    const { status, answer } = await registry.admin("PUT", `/admin/v1/${address}/status`, JSON.stringify({ state, reason }));
    assert.equal(status, 200, JSON.stringify(answer));
  }

  withEachClient((client) => {
    const work = (t, source, version) => client.workspace(t, registry, { "main.tf": usingProvider(`${HOST}/acme/${source}`, version) });

    test("a deprecated provider is installed, and init prints the reason (2.1.2)", async (t) => {
      const type = await published("1.0.0");
      await say(`providers/acme/${type}`, "deprecated", "use acme/gadget");
      const { said } = await (await work(t, type, "1.0.0")).runs("init");
      assert.match(said, new RegExp(`acme/${type} is deprecated: use acme/gadget`));
    });

    test("a withdrawn version is installed from a lock file with a warning, and after its restore without one (14.2)", async (t) => {
      const type = await published("1.0.0", "1.1.0");
      const found = await work(t, type, "1.0.0");
      await found.runs("init");
      await say(`providers/acme/${type}/1.0.0`, "withdrawn", "broken, use 1.1.0");
      await found.remove(".terraform");
      const { said } = await found.runs("init");
      assert.match(said, new RegExp(`acme/${type} 1.0.0 is withdrawn: broken, use 1.1.0`));
      await say(`providers/acme/${type}/1.0.0`, "active", "a mistake");
      assert.doesNotMatch((await found.runs("init", "-upgrade")).said, /withdrawn/);
    });

    test("a revoked version is never selected, and a client that has locked it prints the reason", async (t) => {
      const type = await published("1.0.0", "1.1.0");
      const found = await work(t, type, ">= 1.0.0");
      await found.runs("init");
      await say(`providers/acme/${type}/1.1.0`, "revoked", "CVE-2026-1234");
      await found.remove(".terraform");
      const said = await found.fails("init");
      assert.match(said, /no longer available/);
      assert.match(said, new RegExp(`acme/${type} 1.1.0 is revoked: CVE-2026-1234`));
      assert.match((await found.runs("init", "-upgrade")).said, /v1\.0\.0/);
    });
  });
});
