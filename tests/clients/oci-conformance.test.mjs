// The conformance suite of the OCI distribution specification, where its program is: over what is pushed, and read-only over
// what is published.
import assert from "node:assert/strict";

import { run } from "./support/programs.mjs";
import { inBothModes, useRegistry } from "./support/registry.mjs";
import { module, provider, saying } from "./support/releases.mjs";
import { scratch } from "./support/scratch.mjs";
import { newKey } from "./support/signing.mjs";
import { before, describe, test } from "./support/testing.mjs";

/** The program, built from the `conformance` folder of the specification's repository. */
const { OCI_CONFORMANCE } = process.env;
const skip = OCI_CONFORMANCE ? false : "OCI_CONFORMANCE does not name its program";

/** All that is not asked for unless one says so. */
const EVERYTHING = {
  OCI_API_BLOBS_UPLOAD_CANCEL: "true",
  OCI_API_MANIFESTS_DIGEST_HEADER: "true",
  OCI_API_MANIFESTS_TAG_PARAM: "true",
  OCI_DATA_SPARSE: "true",
};

/** With presigned URLs it is R2 that answers a blob in the end, and R2 has no such header. */
const whereWeServe = (mode) => ({ OCI_API_BLOBS_DIGEST_HEADER: String(mode === "worker") });

/** What cannot be done with what is published. */
const READ_ONLY = {
  OCI_API_PUSH: "false",
  OCI_API_BLOBS_DELETE: "false",
  OCI_API_MANIFESTS_DELETE: "false",
  OCI_API_TAGS_DELETE: "false",
  // The suite looks for it only in manifests that it has made itself, and then misses it.
  OCI_API_MANIFESTS_DIGEST_HEADER: "false",
};

describe("the conformance suite of OCI Distribution 1.1", { skip }, () => {
  inBothModes((mode) => {
    const directory = scratch();
    const registry = useRegistry({ mode });
    before(async () => {
      const key = await newKey(directory);
      await registry.trusts("acme", key);
      await registry.publishes(
        ...["1.0.0", "1.2.0+b.1"].map((version) => provider({ address: "acme/hello", version, key })),
        module({ address: "acme/greeting/local", version: "1.0.0", files: saying("hello") }),
      );
    });

    async function suite(t, env) {
      const results = scratch(t);
      const common = { OCI_REGISTRY: new URL(registry.url).host, OCI_TLS: "disabled", OCI_VERSION: "1.1", OCI_RESULTS_DIR: results };
      const { code, output } = await run(OCI_CONFORMANCE, [], { env: { ...process.env, ...common, ...env }, cwd: results });
      const count = (name) => Number(output.match(new RegExp(`^ *${name}\\.+: *(\\d+)$`, "m"))?.[1]);
      const counts = Object.fromEntries(["Pass", "FAIL", "Error", "Skip", "Disabled"].map((name) => [name, count(name)]));
      const said = output.slice(output.indexOf("OCI Conformance Result"));
      t.diagnostic(JSON.stringify(counts));
      assert.deepEqual([counts.FAIL, counts.Error, counts.Skip], [0, 0, 0], said);
      return { code, counts, said };
    }

    test("everything passes where one can push", async (t) => {
      const { code, counts, said } = await suite(t, {
        ...EVERYTHING,
        ...whereWeServe(mode),
        OCI_REPO1: "conformance/repo1",
        OCI_REPO2: "conformance/repo2",
        OCI_USERNAME: "anybody",
        OCI_PASSWORD: registry.secrets.adminToken,
      });
      assert.equal(code, 0, said);
      // Kinds of data that are switched off are in none of the counts.
      assert.doesNotMatch(said, /: +Disabled$/m);
      assert.equal(counts.Disabled, 0);
      assert.ok(counts.Pass > 1_000, said);
    });

    for (const repository of ["providers/acme/hello", "modules/acme/greeting/local"]) {
      test(`every read of ${repository} passes`, async (t) => {
        const { tags, manifests, blobs } = await contents(repository);
        // The suite breaks down over one of its reports when it may not push; by then it has told the results.
        const { counts } = await suite(t, {
          ...EVERYTHING,
          ...READ_ONLY,
          ...whereWeServe(mode),
          OCI_REPO1: repository,
          OCI_RO_DATA_TAGS: tags.join(" "),
          OCI_RO_DATA_MANIFESTS: manifests.join(" "),
          OCI_RO_DATA_BLOBS: blobs.join(" "),
          OCI_RO_DATA_REFERRERS: manifests.join(" "),
        });
        assert.ok(counts.Pass >= 2 * (tags.length + manifests.length + blobs.length) + manifests.length);
      });
    }

    /** Everything that a repository of what is published holds. */
    async function contents(repository) {
      const { tags } = await registry.json(`/v2/${repository}/tags/list`);
      const [manifests, blobs] = [new Set(), new Set()];
      const add = async (reference) => {
        const response = await registry.request(`/v2/${repository}/manifests/${reference}`);
        manifests.add(response.headers.get("docker-content-digest"));
        const { config, layers = [], manifests: targets = [] } = await response.json();
        for (const { digest } of [config, ...layers].filter(Boolean)) blobs.add(digest);
        for (const { digest } of targets) await add(digest);
      };
      for (const tag of tags) await add(tag);
      return { tags, manifests: [...manifests], blobs: [...blobs] };
    }
  });
});
