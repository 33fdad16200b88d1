// Repair, verification, garbage collection and copies of a whole registry, by the built command.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { answers, fill } from "../support/administered.mjs";
import { HOST, usingProvider, withEachClient } from "../support/client.mjs";
import { run, unlessOnPath } from "../support/programs.mjs";
import { inBothModes, useRegistry } from "../support/registry.mjs";
import { HERE } from "../support/releases.mjs";
import { scratch } from "../support/scratch.mjs";
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

  before(async () => fill(registry));

  test("verification of an undamaged registry finds no faults", async () => {
    const { status, documents, audit_entries, archives, hashed_bytes, bytes, orphans } = await registry.report(["admin", "verify"]);
    assert.equal(status, "ok");
    assert.deepEqual({ documents: documents - audit_entries, orphans }, { documents: DOCUMENTS, orphans: 0 });
    assert.ok(audit_entries > 10, `${audit_entries}`);
    assert.equal(archives, 6 + 6 + 2 + 2);
    assert.equal(hashed_bytes, bytes);
  });

  test("an export can be verified with sha256sum, and a second export downloads nothing", async (t) => {
    const first = await registry.report(["admin", "export", directory]);
    assert.equal(first.fetched, first.archives);
    assert.equal((await registry.report(["admin", "export", directory])).fetched, 0);
    assert.equal(unlessOnPath("sha256sum"), false);
    const checked = await run("sha256sum", ["-c", "--quiet", "SHA256SUMS"], { cwd: directory });
    assert.equal(checked.code, 0, checked.output);
    t.diagnostic(`${first.documents} documents and ${first.archives} archives of ${first.bytes} bytes`);
    const release = await readFile(join(directory, "facts/releases/providers/hosted/acme/hello/1.1.0+b.json"), "utf8");
    assert.equal(JSON.parse(release).address, "acme/hello");
    // A damaged file of the copy is downloaded again.
    const [name] = (await readFile(join(directory, "SHA256SUMS"), "utf8")).match(/archives\/\w+\.zip/);
    await writeFile(join(directory, name), "damaged");
    assert.equal((await registry.report(["admin", "export", directory])).fetched, 1);
  });

  test("a copy contains the audit log", async () => {
    const { entries } = await registry.report(["admin", "audit", "--verify", "--copy", directory]);
    assert.deepEqual(entries, (await registry.report(["admin", "audit", "--verify"])).entries);
  });

  test("a registry imported from a copy gives the same answers", async (t) => {
    const imported = await copy.report(["admin", "import", directory]);
    assert.deepEqual({ created: imported.created, unchanged: imported.unchanged, sent: imported.sent }, { created: IMPORTED, unchanged: 0, sent: 16 });
    assert.deepEqual(await answers(copy), await answers(registry));
    for (const place of [registry, copy]) assert.equal((await place.request(REVOKED)).status, 410);
    assert.equal((await copy.report(["admin", "verify"])).status, "ok");
    assert.deepEqual((await copy.report(["admin", "reindex"])).rewritten, []);
    const again = await copy.report(["admin", "import", directory]);
    assert.deepEqual({ created: again.created, unchanged: again.unchanged, sent: again.sent }, { created: 0, unchanged: IMPORTED, sent: 0 });
    // A copy of the copy differs only in its name and in the log, because each registry has its own.
    const second = scratch(t);
    await copy.report(["admin", "export", second]);
    const sums = async (place) => {
      const lines = (await readFile(join(place, "SHA256SUMS"), "utf8")).split("\n");
      return lines.filter((line) => !line.includes(" facts/audit/"));
    };
    assert.deepEqual(await sums(second), await sums(directory));
    const { entries } = await copy.report(["admin", "audit", "--verify"]);
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
});
