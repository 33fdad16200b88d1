// The licences of what is shipped, and the bills of materials.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { root } from "../../../scripts/lib/paths.mjs";
import { dependenciesOf } from "../../../scripts/release/dependencies.mjs";
import { licencesOf } from "../../../scripts/release/licences.mjs";
import { sbomOf } from "../../../scripts/release/sbom.mjs";
import { TARGETS } from "../../../scripts/release/targets.mjs";
import { test } from "../../clients/support/testing.mjs";

const denyToml = () => readFile(join(root, "deny.toml"), "utf8");

test("deny.toml checks the dependencies of every released target", async () => {
  const targets = (await denyToml()).match(/^targets = \[([^\]]*)\]/m)[1];
  for (const { target } of TARGETS) assert.ok(targets.includes(`"${target}"`), target);
});

test("the licences of a program name every crate in it, and contain the texts of their packages", async () => {
  const targets = ["x86_64-unknown-linux-musl"];
  const text = await licencesOf("command", targets);
  const { crates } = await dependenciesOf({ crate: "terrace-cli", targets });
  for (const { id, source } of crates) assert.equal(text.includes(`| ${id} |`), source !== null, id);
  assert.ok(crates.length > 100, `${crates.length} crates`);
  const ring = crates.find(({ name }) => name === "ring");
  const ofRing = (await readFile(join(ring.directory, "LICENSE-BoringSSL"), "utf8")).trim();
  assert.ok(text.includes(ofRing));
  assert.equal(text.split(ofRing).length, 2, "each text stands once");
  assert.match(text, /## .*musl\b.*\n\n```text\nCopyright © 2005-2020 Rich Felker/);
  assert.doesNotMatch(await licencesOf("worker"), /\| ring@|\| musl \|/);
});

test("the bill of materials names each crate once, with its checksum", async () => {
  const bill = await sbomOf("command", "2026-05-04T00:00:00.000Z");
  const references = [bill.metadata.component, ...bill.components].map((component) => component["bom-ref"]);
  assert.equal(new Set(references).size, references.length);
  assert.equal(bill.metadata.component.name, "terrace-cli");
  const lock = await readFile(join(root, "Cargo.lock"), "utf8");
  const ring = bill.components.find(({ name }) => name === "ring");
  assert.match(lock, new RegExp(`name = "ring"\\nversion = "${ring.version}"\\n.*\\nchecksum = "${ring.hashes[0].content}"`));
});
