// Repair, verification, garbage collection and copies of a whole registry, by the built command.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { admin, answers, does, fill } from "../support/administered.mjs";
import { HOST, usingProvider, withEachClient } from "../support/client.mjs";
import { run, unlessOnPath } from "../support/programs.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { HERE, module, saying } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
import { newKey } from "../support/signing.mjs";
import { before, test } from "../support/testing.mjs";

const REVOKED = `/v1/providers/acme/hello/1.1.0+b/download/${HERE.replace("_", "/")}`;

/** Five releases, the keys, two status documents, a token and the format; two links, a manifest and a tag. */
const DOCUMENTS = 14;

/** The same without the fact format, which an import compares first and does not count. */
const IMPORTED = DOCUMENTS - 1;

inBothModes((mode) => {
  const registry = useRegistry({ mode });
  const copy = useRegistry({ mode });
  const directory = scratch();
  const keyDirectory = scratch();

  before(async () => fill(registry, await newKey(keyDirectory)));

  test("verification of an undamaged registry finds no faults", async () => {
    const { status, documents, audit_entries, archives, hashed_bytes, bytes, orphans } = await does(registry, "verify");
    assert.equal(status, "ok");
    assert.deepEqual({ documents: documents - audit_entries, orphans }, { documents: DOCUMENTS, orphans: 0 });
    assert.ok(audit_entries > 10, `${audit_entries}`);
    assert.equal(archives, 6 + 6 + 2 + 2);
    assert.equal(hashed_bytes, bytes);
  });

  test("an export can be verified with sha256sum, and a second export downloads nothing", async (t) => {
    const first = await does(registry, "export", directory);
    assert.equal(first.fetched, first.archives);
    assert.equal((await does(registry, "export", directory)).fetched, 0);
    assert.equal(unlessOnPath("sha256sum"), false);
    const checked = await run("sha256sum", ["-c", "--quiet", "SHA256SUMS"], { cwd: directory });
    assert.equal(checked.code, 0, checked.output);
    t.diagnostic(`${first.documents} documents and ${first.archives} archives of ${first.bytes} bytes`);
    const release = await readFile(join(directory, "facts/releases/providers/hosted/acme/hello/1.1.0+b.json"), "utf8");
    assert.equal(JSON.parse(release).address, "acme/hello");
    // A damaged file of the copy is downloaded again.
    const [name] = (await readFile(join(directory, "SHA256SUMS"), "utf8")).match(/archives\/\w+\.zip/);
    await writeFile(join(directory, name), "damaged");
    assert.equal((await does(registry, "export", directory)).fetched, 1);
  });

  test("a copy contains the audit log", async () => {
    const { entries } = await does(registry, "audit", "--verify", "--copy", directory);
    assert.deepEqual(entries, (await does(registry, "audit", "--verify")).entries);
  });

  test("a registry imported from a copy gives the same answers", async (t) => {
    const imported = await does(copy, "import", directory);
    assert.deepEqual({ created: imported.created, unchanged: imported.unchanged, sent: imported.sent }, { created: IMPORTED, unchanged: 0, sent: 16 });
    assert.deepEqual(await answers(copy), await answers(registry));
    for (const place of [registry, copy]) assert.equal((await place.request(REVOKED)).status, 410);
    assert.equal((await does(copy, "verify")).status, "ok");
    assert.deepEqual((await does(copy, "reindex")).rewritten, []);
    const again = await does(copy, "import", directory);
    assert.deepEqual({ created: again.created, unchanged: again.unchanged, sent: again.sent }, { created: 0, unchanged: IMPORTED, sent: 0 });
    // A copy of the copy differs only in its name and in the log, because each registry has its own.
    const second = scratch(t);
    await does(copy, "export", second);
    const sums = async (place) => {
      const lines = (await readFile(join(place, "SHA256SUMS"), "utf8")).split("\n");
      return lines.filter((line) => !line.includes(" facts/audit/"));
    };
    assert.deepEqual(await sums(second), await sums(directory));
    const { entries } = await does(copy, "audit", "--verify");
    assert.ok(entries.every(({ what }) => /^(PUT|POST) \/admin\/v1\/(facts|reindex)$/.test(what)), JSON.stringify(entries));
  });

  withEachClient((client) => {
    test("a lock file of one registry is valid for the other", async (t) => {
      const files = { "main.tf": usingProvider(`${HOST}/acme/hello`, "1.0.0") };
      const here = await client.workspace(t, registry, files);
      await here.runs("init");
      const locked = await here.read(".terraform.lock.hcl");
      const there = await client.workspace(t, copy, { ...files, ".terraform.lock.hcl": locked });
      await there.runs("init", "-lockfile=readonly");
    });
  });

  test("damage and loss are reported, and nothing is changed", async (t) => {
    const { archives, now } = (await copy.admin("GET", "/admin/v1/archives")).answer;
    assert.ok(now > 1_700_000_000);
    const { key } = archives.find(({ key }) => key.endsWith(".zip"));
    await copy.overwrite(key, "other bytes");
    const { code, output } = await admin(copy, "verify");
    assert.equal(code, 3);
    assert.match(output, new RegExp(`${key} has other contents`));
    const exported = await admin(copy, "export", scratch(t));
    assert.equal(exported.code, 3, exported.output);
    assert.match(exported.output, /has other contents/);
  });

  test("a release removed from the bucket is reported, and can be restored from the copy", async (t) => {
    const key = "releases/modules/acme/greeting/aws/1.1.0";
    const named = new RegExp(`${key} is missing, but entry \\d+ of the audit log records its publication`);
    await does(registry, "export", directory);
    const sums = await readFile(join(directory, "SHA256SUMS"), "utf8");
    await registry.remove(key);
    for (const command of [["verify", "--quick"], ["gc", "--older-than", "0s", "--yes"], ["export", directory], ["export", scratch(t)]]) {
      const { code, output } = await admin(registry, ...command);
      assert.equal(code, 3, `${command}: ${output}`);
      assert.match(output, named);
    }
    assert.equal(await readFile(join(directory, "SHA256SUMS"), "utf8"), sums);
    const compared = await admin(registry, "verify", "--quick", "--copy", directory);
    assert.equal(compared.code, 3, compared.output);
    assert.match(compared.output, new RegExp(`${key} is in .* but not in the registry`));
    const walked = await admin(registry, "reindex");
    assert.equal(walked.code, 3, walked.output);
    assert.match(walked.output, /acme\/greeting\/aws@1\.1\.0 was published, but its release document is missing/);
    const other = module({ address: "acme/greeting/aws", version: "1.1.0", files: saying("something else") });
    const { status, answer } = await registry.publish(other);
    assert.equal(status, 409, JSON.stringify(answer));
    assert.match(answer.errors[0], /was published with other bytes, and its release is missing in storage/);
    assert.equal((await does(registry, "verify", "--quick", "--accept-loss", "acme/greeting/aws@1.1.0")).status, "ok");
    assert.equal((await does(registry, "import", directory)).created, 1);
    assert.equal((await does(registry, "verify", "--copy", directory)).status, "ok");
    await does(registry, "export", directory);
  });
});
