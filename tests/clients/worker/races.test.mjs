// 64 concurrent publishers, and readers, on workerd. Its simulators do not limit how often a key is written;
// those limits are tested in tests/it/native/storage/crowds.rs.
import assert from "node:assert/strict";

import { sha256, zip } from "../support/archives.mjs";
import { counts } from "../support/counts.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { module, packaged, provider, saying, signedProvider } from "../support/releases.mjs";
import { before, test } from "../support/testing.mjs";

const CROWD = 64;
const READERS = 8;
const LISTS = {
  "acme/hello": ["/v1/providers/acme/hello/versions", "/mirror/127.0.0.1/acme/hello/index.json", "/v2/providers/acme/hello/tags/list"],
  "acme/same": ["/v1/providers/acme/same/versions"],
  "acme/other": ["/v1/providers/acme/other/versions"],
};
/** Versions whose order differs from that of their texts. */
const VERSIONS = Array.from({ length: CROWD }, (_, number) => [`1.${number}.0`, `1.${number}.0-rc.1`, `2.0.${number}`, `10.${number}.1`][number % 4]);

inBothModes((mode) => {
  const registry = useRegistry({ mode });
  let key;

  before(async () => {
    key = await registry.trusts("acme");
    for (const address of Object.keys(LISTS)) await registry.publishes(provider({ address, version: "0.1.0", key }));
  });

  test(`${CROWD} versions of one provider are all published concurrently, and listed in order`, async (t) => {
    const releases = await Promise.all(VERSIONS.map((version) => provider({ address: "acme/hello", version, key })));
    const { statuses, reads } = await publishAtOnce("acme/hello", releases);
    t.diagnostic(`${JSON.stringify(counts(statuses))}; ${reads} reads`);
    assert.deepEqual(counts(statuses), { 201: CROWD });
    const all = ["0.1.0", ...VERSIONS].sort(compare);
    for (const path of LISTS["acme/hello"]) assert.deepEqual(versionsIn(await registry.json(path), path), all, path);
  });

  test(`${CROWD} publishers of the same release create it once, and ${CROWD - 1} of them find it published`, async () => {
    const release = await provider({ address: "acme/same", version: "1.0.0", key });
    await sendArchives([release]);
    const { statuses } = await publishAtOnce("acme/same", Array(CROWD).fill(release));
    assert.deepEqual(counts(statuses), { 200: CROWD - 1, 201: 1 });
  });

  test(`one of ${CROWD} publishers of different bytes as one version wins`, async () => {
    const releases = await Promise.all(Array.from({ length: CROWD }, (_, number) => otherBytes(number)));
    await sendArchives(releases);
    const { statuses } = await publishAtOnce("acme/other", releases);
    assert.deepEqual(counts(statuses), { 201: 1, 409: CROWD - 1 });
    const winner = releases[statuses.indexOf(201)];
    const [{ os, arch, sha256: digest }] = winner.body.packages;
    const download = await registry.json(`/v1/providers/acme/other/1.0.0/download/${os}/${arch}`);
    assert.equal(download.shasum, digest);
    const bytes = Buffer.from(await (await fetch(download.download_url)).arrayBuffer());
    assert.equal(sha256(bytes), digest);
  });

  test(`${CROWD} modules of one namespace that are published concurrently are all in its catalogue`, async () => {
    const releases = Array.from({ length: CROWD }, (_, number) => module({ address: `crowd/network${number}/aws`, version: "1.0.0", files: saying(`${number}`) }));
    const answers = await Promise.all(releases.map((release) => registry.publish(release)));
    assert.deepEqual(counts(answers.map(({ status }) => status)), { 201: CROWD });
    const { packages } = await registry.json("/api/v1/namespaces/crowd?limit=100");
    assert.equal(packages.length, CROWD);
  });

  /**
   * Returns the answers to the publishers, while readers check that each list is in order, has the earlier
   * versions, and lists only versions that can be downloaded.
   */
  async function publishAtOnce(address, releases) {
    let isDone = false;
    let reads = 0;
    const read = async (number) => {
      const path = LISTS[address][number % LISTS[address].length];
      while (!isDone) {
        const versions = versionsIn(await registry.json(path), path);
        assert.deepEqual(versions, [...versions].sort(compare), path);
        assert.ok(versions.includes("0.1.0"), `${path} lists 0.1.0`);
        for (const version of versions.slice(-1)) {
          const response = await registry.request(`/mirror/127.0.0.1/${address}/${version}.json`);
          assert.equal(response.status, 200, `${version} is listed`);
          await response.arrayBuffer();
        }
        reads += 1;
      }
    };
    const readers = Array.from({ length: READERS }, (_, number) => read(number));
    const publishers = releases.map(async (release) => (await registry.publish(release)).status);
    const statuses = await Promise.all(publishers).finally(() => (isDone = true));
    await Promise.all(readers);
    return { statuses, reads };
  }

  /** Sends only the archives, directly to storage. */
  async function sendArchives(releases) {
    for (const { archives } of releases) {
      for (const [digest, bytes] of archives) await registry.overwrite(`archives/${digest}.zip`, bytes);
    }
  }

  function otherBytes(number) {
    const platform = "linux_amd64";
    const bytes = zip({ "terraform-provider-other_v1.0.0": `#!/bin/sh\n# of publisher ${number}\n` }, 0o755);
    const zips = [packaged(`terraform-provider-other_1.0.0_${platform}.zip`, platform, bytes)];
    return signedProvider({ address: "acme/other", version: "1.0.0", key, zips });
  }
});

/** Returns the versions in a list of any protocol; tags, which are ordered as texts (6.3), are sorted by version. */
function versionsIn(list, path) {
  if (list.tags) {
    assert.deepEqual(list.tags, [...list.tags].sort(), path);
    return list.tags.toSorted(compare);
  }
  return Array.isArray(list.versions) ? list.versions.map(({ version }) => version) : Object.keys(list.versions);
}

/** Compares semantic versions, as far as needed here: a release is newer than its candidates. */
function compare(a, b) {
  const [[coreA, preA], [coreB, preB]] = [a, b].map((version) => version.split("-"));
  const [partsA, partsB] = [coreA, coreB].map((core) => core.split(".").map(Number));
  const different = partsA.findIndex((part, place) => part !== partsB[place]);
  if (different >= 0) return partsA[different] - partsB[different];
  return (preA === undefined) - (preB === undefined);
}
