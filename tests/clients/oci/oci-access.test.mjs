// A private registry by OCI: OpenTofu with configured credentials, and clients of other projects that log in.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { sha256 } from "../support/archives.mjs";
import { ociHome, ociMirror, onlyLinux, usingModule, usingProvider, withEachClient } from "../support/client.mjs";
import { run, runs, unlessOnPath } from "../support/programs.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { ELSEWHERE, HERE, mirrored, module, provider, saying } from "../support/releases.mjs";
import { before, describe, test } from "../support/testing.mjs";
import { createToken } from "../support/tokens.mjs";

const ORIGIN = "origin.invalid";

function usePrivateRegistry(mode, vars) {
  const registry = useRegistry({ mode, https: true, vars: { TERRACE_ACCESS: "private", ...vars } });
  before(async () => {
    const key = await registry.trusts("open");
    const greeting = module({ address: "acme/greeting/local", version: "1.0.0", files: saying("hello") });
    await registry.publishes(
      mirrored(ORIGIN, key, provider({ address: "acme/widget", version: "1.0.0", key })),
      provider({ address: "open/hello", version: "1.0.0", key }),
      greeting,
    );
    [registry.archive] = greeting.archives.keys();
    const { token } = await createToken(registry, "read:acme", `read:${ORIGIN}`);
    registry.reader = token;
  });
  return registry;
}

withEachClient((client) => {
  if (client.name !== "tofu") return;
  describe("a private registry by oci_mirror", { skip: onlyLinux }, () => inBothModes((mode) => {
    const registry = usePrivateRegistry(mode, { TERRACE_ACCESS_EXCEPT: "open" });

    const files = { "main.tf": usingProvider(`${ORIGIN}/acme/widget`, "1.0.0") };

    function work(t, files, credentials = "") {
      const config = `${ociMirror(registry)}oci_default_credentials {\n discover_ambient_credentials = false\n}\n${credentials}`;
      return client.workspace(t, registry, files, { config });
    }

    const withPassword = (password) => `oci_credentials "${registry.host}" {\n username = "anybody"\n password = "${password}"\n}\n`;

    test("a token as the password installs a provider and a module (6.10, 6.12)", async (t) => {
      await (await work(t, files, withPassword(registry.reader))).runs("init");
      const source = `oci://${registry.host}/modules/acme/greeting/local?tag=1.0.0`;
      const found = await work(t, { "main.tf": usingModule(source) }, withPassword(registry.reader));
      await found.runs("init");
      assert.deepEqual(await found.outputs(), { says: "hello" });
    });

    test("a lock file of the network mirror for two platforms is accepted by an OCI installation (5.11, 14.1)", async (t) => {
      const found = await work(t, files, `${withPassword(registry.reader)}credentials "${registry.host}" {\n token = "${registry.reader}"\n}\n`);
      const platforms = [HERE, ELSEWHERE].map((platform) => `-platform=${platform}`);
      await found.runs("providers", "lock", `-net-mirror=${registry.url}/mirror/`, ...platforms);
      assert.equal((await found.lockedHashes()).zh.length, 2);
      await found.runs("init", "-lockfile=readonly");
    });

    test("a public namespace of a private registry needs no password (6.1)", async (t) => {
      await (await work(t, { "main.tf": usingProvider("127.0.0.1/open/hello", "1.0.0") })).runs("init");
    });

    test("a missing password, a wrong one and a token for another namespace are reported to the user (6.4)", async (t) => {
      assert.match(await (await work(t, files)).fails("init"), /needs the header|401|unauthorized/i);
      assert.match(await (await work(t, files, withPassword("wrong"))).fails("init"), /not a token of this registry/);
      const { token } = await createToken(registry, "read:globex");
      assert.match(await (await work(t, files, withPassword(token))).fails("init"), /does not have a provider|not.* found|no available/i);
    });
  }));
});

describe("clients of other projects at a private registry", { skip: onlyLinux }, () => inBothModes((mode) => {
  const registry = usePrivateRegistry(mode);

  for (const [program, list, download] of [
    ["crane", ["ls"], (repository, digest) => ["blob", `${repository}@${digest}`]],
    ["regctl", ["tag", "ls"], (repository, digest) => ["blob", "get", repository, digest]],
    ["oras", ["repo", "tags"], (repository, digest) => ["blob", "fetch", "--output", "-", `${repository}@${digest}`]],
    ["skopeo", ["list-tags"], (repository) => ["--insecure-policy", "copy", `docker://${repository}:1.0.0`, "dir:pulled"]],
  ]) {
    test(`${program} lists tags and downloads an archive only with a token as the password (6.10)`, { skip: unlessOnPath(program) }, async (t) => {
      const repository = `${registry.host}/modules/acme/greeting/local`;
      const listing = [...list, `${program === "skopeo" ? "docker://" : ""}${repository}`];
      const options = await ociHome(t, registry, registry.reader);
      assert.match((await runs(program, listing, options)).stdout.toString(), /1\.0\.0/);
      const downloading = download(repository, `sha256:${registry.archive}`);
      for (const password of [null, "wrong"]) {
        const others = await ociHome(t, registry, password);
        for (const line of [listing, downloading]) {
          const { code, output } = await run(program, line, others);
          assert.notEqual(code, 0, output);
        }
      }
      const { stdout } = await runs(program, downloading, options);
      const bytes = program === "skopeo" ? await readFile(join(options.cwd, "pulled", registry.archive)) : stdout;
      assert.equal(sha256(bytes), registry.archive);
    });
  }
}));
