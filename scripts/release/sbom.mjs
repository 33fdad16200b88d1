// `node scripts/release/sbom.mjs worker|command [--out FILE]`: writes the software bill of materials of a program, in the format
// CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/). Two runs at one commit write the same bytes.
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";

import { isMain, root } from "../lib/paths.mjs";
import { main, say } from "../lib/step.mjs";
import { dependenciesOf, PROGRAMS } from "./dependencies.mjs";
import { normalized } from "./expressions.mjs";
import { headTime } from "./git.mjs";

/** Returns the document about the program `name` of PROGRAMS, with `time` as the time of its creation. */
export async function sbomOf(name, time) {
  const { crate, targets } = PROGRAMS[name];
  const { own, crates } = await dependenciesOf({ crate, targets });
  const references = new Map(crates.map((found) => [found.id, purl(found)]));
  const document = {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      timestamp: time,
      tools: { components: [{ type: "application", name: "scripts/release/sbom.mjs", version: own.version }] },
      component: { ...component(own), type: "application" },
    },
    components: crates.filter((found) => found !== own).map((found) => withTargets(component(found), found.targets, targets)),
    dependencies: crates.map(({ id, uses }) => ({ ref: references.get(id), dependsOn: uses.map((used) => references.get(used)) })),
  };
  return { $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json", serialNumber: serialOf(document), ...document };
}

function component(crate) {
  const reference = purl(crate);
  return {
    type: "library",
    "bom-ref": reference,
    name: crate.name,
    version: crate.version,
    ...(crate.description && { description: crate.description.trim() }),
    scope: "required",
    ...(crate.checksum && { hashes: [{ alg: "SHA-256", content: crate.checksum }] }),
    ...(crate.license && { licenses: [{ expression: normalized(crate.license) }] }),
    purl: reference,
    ...(crate.repository && { externalReferences: [{ type: "vcs", url: crate.repository }] }),
  };
}

const purl = ({ name, version }) => `pkg:cargo/${name}@${encodeURIComponent(version)}`;

/** Names the targets of a component that not all targets of the program have. */
function withTargets(about, some, all) {
  if (some.length === all.length) return about;
  return { ...about, properties: some.map((value) => ({ name: "terrace:target", value })) };
}

/** Returns a UUID that the content determines. */
function serialOf(document) {
  const digest = createHash("sha256").update(JSON.stringify(document)).digest();
  digest[6] = (digest[6] & 0x0f) | 0x80;
  digest[8] = (digest[8] & 0x3f) | 0x80;
  const hex = digest.toString("hex");
  return `urn:uuid:${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join("-")}`;
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { out: { type: "string" } } });
    const [name] = positionals;
    if (!PROGRAMS[name] || !values.out) throw new Error("usage: node scripts/release/sbom.mjs worker|command --out FILE");
    const document = await sbomOf(name, await headTime(root));
    await writeFile(values.out, `${JSON.stringify(document, null, 2)}\n`);
    say(`${values.out}: ${document.components.length} components`);
  });
}
