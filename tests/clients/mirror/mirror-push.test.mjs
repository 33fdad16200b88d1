// The output of `providers mirror` for one registry, pushed to another registry and installed from there.
import assert from "node:assert/strict";
import { join } from "node:path";

import { cli } from "../../../scripts/build.mjs";
import { HOST, networkMirror, onlyLinux, usingProvider, withEachClient } from "../support/client.mjs";
import { run } from "../support/programs.mjs";
import { useRegistry } from "../support/registry.mjs";
import { ELSEWHERE, HERE, provider } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, test } from "../support/testing.mjs";

withEachClient((client) => {
  const origin = useRegistry();
  const mirror = useRegistry({ https: true });
  const keyDirectory = scratch();

  before(async () => {
    const key = await newKey(keyDirectory);
    await origin.trusts("acme", key);
    await origin.publishes(
      provider({ address: "acme/hello", version: "1.0.0", key }),
      provider({ address: "acme/hello", version: "1.1.0", key }),
    );
  });

  test("a directory of providers mirror is pushed, and a second push uploads nothing (5.9, 5.10, 5.11)", { skip: onlyLinux }, async (t) => {
    const work = await client.workspace(t, origin, { "main.tf": usingProvider(`${HOST}/acme/hello`, "1.0.0") });
    await work.runs("providers", "mirror", `-platform=${HERE}`, `-platform=${ELSEWHERE}`, "out");
    // This creates the lock file that results from the origin's signature.
    await work.runs("init");
    const locked = await work.read(".terraform.lock.hcl");

    const pushes = async (...command) => {
      const { code, stdout } = await run(cli, [...command, join(work.directory, "out"), "--json"], {
        env: { ...process.env, ...mirror.env },
      });
      assert.equal(code, 0, stdout.toString());
      return JSON.parse(stdout.toString());
    };
    // Both commands give the same result.
    const statuses = async (...command) => (await pushes(...command)).versions.map(({ status }) => status);
    assert.deepEqual(await statuses("admin", "import"), ["created"]);
    assert.deepEqual(await statuses("mirror", "push"), ["unchanged"]);

    const config = networkMirror(mirror);
    const there = await client.workspace(
      t,
      mirror,
      { "main.tf": usingProvider(`${HOST}/acme/hello`, ">= 1.0"), ".terraform.lock.hcl": locked },
      { config, env: { SSL_CERT_FILE: mirror.env.SSL_CERT_FILE } },
    );
    const { said } = await there.runs("init");
    assert.match(said, /acme\/hello v1\.0\.0 \(verified checksum\)|acme\/hello v1\.0\.0/);
    await there.remove(".terraform");
    await there.remove(".terraform.lock.hcl");
    await there.runs("init");
    await there.remove(".terraform");
    await there.runs("init", "-lockfile=readonly");
  });
});
