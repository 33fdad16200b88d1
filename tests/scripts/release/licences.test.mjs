// The licences of what is shipped, and the bills of materials.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { root } from "../../../scripts/lib/paths.mjs";
import { dependenciesOf, parseTree, PROGRAMS } from "../../../scripts/release/dependencies.mjs";
import { allowedLicences, isAllowed } from "../../../scripts/release/expressions.mjs";
import { licencesOf, refusedBy } from "../../../scripts/release/licences.mjs";
import { sbomOf } from "../../../scripts/release/sbom.mjs";
import { TARGETS } from "../../../scripts/release/targets.mjs";
import { test } from "../../clients/support/testing.mjs";

const denyToml = () => readFile(join(root, "deny.toml"), "utf8");

test("a licence expression is allowed if one of its alternatives is, with all its parts", () => {
  const allowed = ["MIT", "Apache-2.0", "Unicode-3.0"];
  for (const text of ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "(GPL-3.0 OR Apache-2.0) AND Unicode-3.0", "Apache-2.0 WITH LLVM-exception"]) {
    assert.equal(isAllowed(text, allowed), true, text);
  }
  for (const text of ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND ISC", "ISC OR GPL-3.0 AND MIT"]) {
    assert.equal(isAllowed(text, allowed), false, text);
  }
  for (const text of ["", "MIT OR", "(MIT", "MIT MIT", "MIT )", "AND MIT"]) assert.throws(() => isAllowed(text, allowed), /not a licence expression/, text);
});

test("every crate in the Worker and in the command has a licence that deny.toml allows", async () => {
  const allowed = allowedLicences(await denyToml());
  assert.ok(allowed.everywhere.includes("Apache-2.0"));
  for (const program of Object.values(PROGRAMS)) {
    const { crates } = await dependenciesOf(program);
    assert.ok(crates.length > 100, `${program.crate} has ${crates.length} crates`);
    assert.deepEqual(refusedBy(allowed, crates), []);
  }
  const crate = (license, name = "x") => ({ id: `${name}@1.0.0`, name, license });
  assert.deepEqual(refusedBy(allowed, [crate("GPL-3.0"), crate(null), crate("CDLA-Permissive-2.0", "webpki-roots")]), [
    "x@1.0.0 (GPL-3.0)",
    "x@1.0.0 (it names none)",
  ]);
});

test("deny.toml checks the dependencies of every released target", async () => {
  const targets = (await denyToml()).match(/^targets = \[([^\]]*)\]/m)[1];
  for (const { target } of TARGETS) assert.ok(targets.includes(`"${target}"`), target);
});

test("the licences of a program name every crate in it, and contain the texts of their packages", async () => {
  const targets = ["x86_64-unknown-linux-musl"];
  const text = await licencesOf("command", targets);
  const { crates } = await dependenciesOf({ crate: "terrace-cli", targets });
  for (const { id, isOwn } of crates) assert.equal(text.includes(`| ${id} |`), !isOwn, id);
  const ring = crates.find(({ name }) => name === "ring");
  const ofRing = (await readFile(join(ring.directory, "LICENSE-BoringSSL"), "utf8")).trim();
  assert.ok(text.includes(ofRing));
  assert.equal(text.split(ofRing).length, 2, "each text stands once");
  assert.match(text, /## .*musl\b.*\n\n```text\nCopyright © 2005-2020 Rich Felker/);
  assert.doesNotMatch(await licencesOf("worker"), /\| ring@|\| musl \|/);
});

test("the tree of cargo is read with every edge, also where it repeats a crate", () => {
  const uses = parseTree("0 top v0.1.0 (/x)\n1 a v1.0.0\n2 b v1.0.0 (proc-macro)\n3 c v2.0.0+1\n1 b v1.0.0 (proc-macro) (*)\n1 c v1.0.0\n");
  assert.deepEqual(
    [...uses].map(([id, used]) => [id, [...used]]),
    [["top@0.1.0", ["a@1.0.0", "b@1.0.0", "c@1.0.0"]], ["a@1.0.0", ["b@1.0.0"]], ["b@1.0.0", ["c@2.0.0+1"]], ["c@2.0.0+1", []], ["c@1.0.0", []]],
  );
  assert.throws(() => parseTree("error: x"), /another form/);
});

test("the bill of materials names each crate once, with its checksum, and what uses it", async () => {
  const bill = await sbomOf("command", "2026-05-04T00:00:00.000Z");
  assert.deepEqual(bill, await sbomOf("command", "2026-05-04T00:00:00.000Z"));
  assert.match(bill.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const references = [bill.metadata.component, ...bill.components].map((component) => component["bom-ref"]);
  assert.equal(new Set(references).size, references.length);
  assert.equal(bill.metadata.component.name, "terrace-cli");
  const lock = await readFile(join(root, "Cargo.lock"), "utf8");
  const ring = bill.components.find(({ name }) => name === "ring");
  assert.match(lock, new RegExp(`name = "ring"\\nversion = "${ring.version}"\\n.*\\nchecksum = "${ring.hashes[0].content}"`));
  const used = new Set();
  for (const { ref, dependsOn } of bill.dependencies) {
    for (const reference of [ref, ...dependsOn]) assert.ok(references.includes(reference), reference);
    dependsOn.forEach((reference) => used.add(reference));
  }
  assert.deepEqual(references.filter((reference) => !used.has(reference)), [bill.metadata.component["bom-ref"]]);
  const only = bill.components.find(({ name }) => name.startsWith("windows"));
  assert.deepEqual(only.properties.map(({ value }) => value.includes("windows")), only.properties.map(() => true));
});
