// The platform operations of each action, from which docs/cost.md estimates bills.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";

import { costPage, OPERATIONS_FILE, COST_FILE } from "../../../scripts/cost.mjs";
import { MODES } from "../support/registry.mjs";
import { HERE, mirrored, module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, describe, test } from "../support/testing.mjs";
import { Visitor } from "../support/visits.mjs";
import { useWatchedRegistry } from "../support/watched.mjs";

/** The 15 platforms that GoReleaser builds a provider for, including that of this machine. */
const PLATFORMS = [
  ...["darwin_amd64", "darwin_arm64", "freebsd_386", "freebsd_amd64", "freebsd_arm", "freebsd_arm64", "linux_386"],
  ...["linux_amd64", "linux_arm", "linux_arm64", "openbsd_386", "openbsd_amd64", "windows_386", "windows_amd64"],
  "windows_arm64",
];

const MIRRORED_PLATFORMS = [...new Set([HERE, "linux_amd64", "linux_arm64", "windows_amd64"])].slice(0, 3);

const PROVIDERS = 50;

/** The billing category of each operation of a binding. */
const PAID_AS = {
  "KV get": "kvReads",
  "KV getWithMetadata": "kvReads",
  "KV put": "kvWrites",
  "KV delete": "kvDeletes",
  "KV list": "kvLists",
  "R2 put": "r2A",
  "R2 list": "r2A",
  "R2 get": "r2B",
  "R2 head": "r2B",
  // Deletes are free.
  "R2 delete": null,
};

/**
 * Whether an operation costs the same for any number of actions: the catalogue of all owners is rebuilt at most once a minute,
 * after a response, and an isolate reads the list of erased digests every 10 seconds.
 */
const isOfNoAction = (key = "") =>
  key === "cards/" || /^(changes\/merged-catalog|written\/merged-catalog|leases\/catalog|merged-catalog\/|revocations)/.test(key);

/** The archives of the mode `edge` are in the cache of the platform, which `watched/worker.mjs` imitates. */
const EDGE = { KEEPS_ARCHIVES: "yes" };

const pinned = JSON.parse(await readFile(OPERATIONS_FILE, "utf8").catch(() => "{}"));

for (const mode of [...MODES, "edge"]) {
  describe(`${mode} URLs`, () => {
    // R2 keeps the checksums of uploads, so the Worker need not read them again.
    const registry = useWatchedRegistry({ mode, keepsChecksums: mode !== "worker", vars: mode === "edge" ? EDGE : {} });
    const keyDirectory = scratch();
    let key;

    const own = (name, version) => provider({ address: `acme/${name}`, version, key, platforms: PLATFORMS });
    const ofOthers = (version) =>
      mirrored("origin.example", key, provider({ address: "acme/widget", version, key, platforms: MIRRORED_PLATFORMS }));
    const network = (version) => module({ address: "acme/network/aws", version, files: saying(version) });

    before(async () => {
      key = await newKey(keyDirectory);
      await registry.trusts("acme", key);
      await registry.publishes(own("hello", "1.0.0"), network("1.0.0"), ofOthers("1.0.0"));
      for (let number = 0; number < PROVIDERS; number += 1) {
        await registry.publishes(provider({ address: `acme/hello-${number}`, version: "1.0.0", key }));
      }
    });

    const ACTIONS = {
      page: (visitor) => visitor.open(),
      init_provider: async (visitor) => {
        await visitor.discover();
        await visitor.installProvider("acme/hello");
      },
      init_installed: async (visitor) => {
        await visitor.discover();
        await visitor.findProviderInstalled("acme/hello");
      },
      init_50_providers: async (visitor) => {
        await visitor.discover();
        for (let number = 0; number < PROVIDERS; number += 1) await visitor.installProvider(`acme/hello-${number}`);
      },
      install_module: async (visitor) => {
        await visitor.discover();
        await visitor.installModule("acme/network/aws");
      },
      mirror_install: (visitor) => visitor.installFromMirror("origin.example/acme/widget"),
      oci_pull: (visitor) => visitor.pull("providers/origin.example/acme/widget"),
      missing_package: (visitor) => visitor.isRefused("/v1/providers/acme/nothing/versions"),
      missing_package_again: (visitor) => visitor.isRefused("/v1/providers/acme/nothing/versions"),
      missing_version: (visitor) => visitor.isRefused("/v1/providers/acme/hello/9.9.9/download/linux/amd64"),
      publish_provider: async (visitor) => visitor.publish(await own("hello", "1.1.0")),
      publish_mirrored: async (visitor) => visitor.publish(await ofOthers("1.1.0")),
      publish_module: async (visitor) => visitor.publish(await network("1.1.0")),
    };

    test("each action takes the operations listed in docs/operations.json", async () => {
      const found = {};
      for (const [name, act] of Object.entries(ACTIONS)) {
        if (mode === "edge" && !/^(publish|missing)_/.test(name)) await act(new Visitor(registry));
        found[name] = await operationsOf(act);
      }
      if (process.env.TERRACE_PIN) {
        pinned[mode] = found;
        await writeFile(OPERATIONS_FILE, `${JSON.stringify(pinned, null, 2)}\n`);
      }
      assert.deepEqual(found, pinned[mode], "TERRACE_PIN=1 node --test tests/clients/worker/cost.test.mjs writes the current counts");
    });

    async function operationsOf(act) {
      const visitor = new Visitor(registry);
      await registry.watched();
      await act(visitor);
      const { requests, operations } = await registry.watched();
      const counts = { requests: requests.length, kvReads: 0, kvWrites: 0, kvDeletes: 0, kvLists: 0 };
      Object.assign(counts, { r2A: visitor.asked.puts, r2B: visitor.asked.gets });
      for (const { name } of operations.filter(({ key }) => !isOfNoAction(key))) {
        assert.ok(name in PAID_AS, `the billing category of ${name} is unknown`);
        if (PAID_AS[name]) counts[PAID_AS[name]] += 1;
      }
      return counts;
    }
  });
}

test("docs/cost.md equals the output of `npm run cost`", async () => {
  assert.equal(await readFile(COST_FILE, "utf8"), await costPage());
});
