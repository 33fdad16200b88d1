// An erasure of versions by the built command against the built Worker, and the copies of such a registry.
import assert from "node:assert/strict";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";

import { cli } from "../../../scripts/build.mjs";
import { run } from "../support/programs.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { HERE, module, provider, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, test } from "../support/testing.mjs";

const REASON = "a leaked key";
const DOWNLOADS = [
  "/v1/modules/acme/greeting/aws/1.0.0/download",
  `/v1/providers/acme/hello/1.0.0/download/${HERE.replace("_", "/")}`,
];
const KEPT = "/v1/modules/acme/greeting/aws/1.1.0/download";

/** Runs `terrace` against a registry, and returns its report. */
async function does(registry, args, code = 0) {
  const result = await run(cli, [...args, "--json"], { env: { ...process.env, ...registry.env } });
  assert.equal(result.code, code, result.output);
  return JSON.parse(result.stdout.toString());
}

const exists = (path) =>
  access(path).then(
    () => true,
    () => false,
  );

inBothModes((mode) => {
  const registry = useRegistry({ mode });
  const copy = useRegistry({ mode });
  const [directory, keyDirectory] = [scratch(), scratch()];
  const erased = ["acme/greeting/aws@1.0.0", "acme/hello"];
  let archives;

  const statusesOf = (of) => Promise.all([...DOWNLOADS, KEPT].map(async (path) => (await of.request(path)).status));

  before(async () => {
    const key = await newKey(keyDirectory);
    await registry.trusts("acme", key);
    await registry.publishes(
      provider({ address: "acme/hello", version: "1.0.0", key }),
      module({ address: "acme/greeting/aws", version: "1.0.0", files: saying("a secret") }),
      module({ address: "acme/greeting/aws", version: "1.1.0", files: saying("hello") }),
    );
    await does(registry, ["admin", "export", directory]);
  });

  test("a preview lists the archives and changes nothing", async () => {
    const previews = await Promise.all(erased.map((spec) => does(registry, ["admin", "erase", spec, "--reason", REASON])));
    archives = previews.flatMap((preview) => preview.erased);
    assert.equal(archives.filter((key) => key.endsWith(".zip")).length, 3);
    assert.equal(archives.length, 5);
    assert.deepEqual(await statusesOf(registry), [200, 200, 200]);
  });

  test("erased versions answer 410, and their archives are gone", async () => {
    const url = await archiveUrl(registry, DOWNLOADS[0]);
    assert.equal((await fetch(url)).status, 200);
    for (const spec of [...erased, ...erased]) {
      const report = await does(registry, ["admin", "erase", spec, "--reason", REASON, "--yes"]);
      assert.equal(report.status, "ok");
      assert.ok(Date.parse(report.uploads_end) > Date.now());
    }
    assert.deepEqual(await statusesOf(registry), [410, 410, 200]);
    assert.match(await (await registry.request(DOWNLOADS[0])).text(), /erased: a leaked key/);
    // A URL that was signed before ends with the object.
    assert.equal((await fetch(url)).status, 404);
    const { status } = await does(registry, ["admin", "verify"]);
    assert.equal(status, "ok");
  });

  test("an export removes them from the older copy, and an import of it has the same answers", async () => {
    for (const key of archives) assert.ok(await exists(join(directory, key)), key);
    await does(registry, ["admin", "export", directory]);
    for (const key of archives) assert.ok(!(await exists(join(directory, key))), key);
    const release = JSON.parse(await readFile(join(directory, "facts/releases/modules/acme/greeting/aws/1.0.0.json"), "utf8"));
    assert.equal(release.kind, "erased");
    await does(copy, ["admin", "import", directory]);
    assert.deepEqual(await statusesOf(copy), await statusesOf(registry));
    await does(copy, ["admin", "verify"]);
    await assert.rejects(copy.publishes(module({ address: "acme/greeting/aws", version: "1.0.0", files: saying("a secret") })), /erased/);
  });
});

/** Returns the URL of a module's archive, without what its client removes. */
async function archiveUrl(registry, path) {
  const { location } = await registry.json(path);
  return location.replace(/[?&](checksum|archive)=[^&]*/g, "");
}
