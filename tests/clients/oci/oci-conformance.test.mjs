// The conformance suite of the OCI distribution specification, if its program is present: on pushed
// repositories, and read-only on published packages.
import assert from "node:assert/strict";

import { run } from "../support/programs.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, describe, test } from "../support/testing.mjs";

/** The program, built from the `conformance` folder of the specification's repository. */
const { OCI_CONFORMANCE } = process.env;
const skip = OCI_CONFORMANCE ? false : "OCI_CONFORMANCE does not name its program";

/** The optional parts of the suite, which are off by default. */
const EVERYTHING = {
  OCI_API_BLOBS_UPLOAD_CANCEL: "true",
  OCI_API_MANIFESTS_DIGEST_HEADER: "true",
  OCI_API_MANIFESTS_TAG_PARAM: "true",
  OCI_DATA_SPARSE: "true",
};

/** With presigned URLs, R2 answers the request for a blob, and R2 does not send this header. */
const whereWeServe = (mode) => ({ OCI_API_BLOBS_DIGEST_HEADER: String(mode === "worker") });

/** The parts that generated repositories do not support. */
const READ_ONLY = {
  OCI_API_PUSH: "false",
  OCI_API_BLOBS_DELETE: "false",
  OCI_API_MANIFESTS_DELETE: "false",
  OCI_API_TAGS_DELETE: "false",
  // The suite requests it only for manifests that it has pushed itself, and then reports it as missing.
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

    test("all parts pass on a repository that accepts pushes", async (t) => {
      const { code, counts, said } = await suite(t, {
        ...EVERYTHING,
        ...whereWeServe(mode),
        OCI_REPO1: "conformance/repo1",
        OCI_REPO2: "conformance/repo2",
        OCI_USERNAME: "anybody",
        OCI_PASSWORD: registry.secrets.adminToken,
      });
      assert.equal(code, 0, said);
      // The counts do not include kinds of data that are switched off.
      assert.doesNotMatch(said, /: +Disabled$/m);
      assert.equal(counts.Disabled, 0);
      assert.ok(counts.Pass > 1_000, said);
    });

    for (const repository of ["providers/acme/hello", "modules/acme/greeting/local"]) {
      test(`every read of ${repository} passes`, async (t) => {
        const { tags, manifests, blobs } = await contents(repository);
        // Without push access, the suite fails while writing one of its reports; by then it has printed the
        // results.
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

    /** Returns the contents of a generated repository. */
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
