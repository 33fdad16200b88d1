// The software bill of materials of a program, in the format CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/). Two runs at one
// commit write the same bytes.
import { dependenciesOf, PROGRAMS } from "./dependencies.mjs";

/** Returns the document about the program `name` of PROGRAMS, with `time` as the time of its creation. */
export async function sbomOf(name, time) {
  const { own, crates } = await dependenciesOf(PROGRAMS[name]);
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      timestamp: time,
      tools: { components: [{ type: "application", name: "scripts/release/sbom.mjs", version: own.version }] },
      component: { ...component(own), type: "application" },
    },
    components: crates.map(component),
  };
}

function component({ name, version, description, checksum, license, repository }) {
  const reference = `pkg:cargo/${name}@${encodeURIComponent(version)}`;
  return {
    type: "library",
    "bom-ref": reference,
    name,
    version,
    ...(description && { description: description.trim() }),
    scope: "required",
    ...(checksum && { hashes: [{ alg: "SHA-256", content: checksum }] }),
    ...(license && { licenses: [{ expression: license }] }),
    purl: reference,
    ...(repository && { externalReferences: [{ type: "vcs", url: repository }] }),
  };
}
