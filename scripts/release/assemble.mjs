// `node scripts/release/assemble.mjs`: completes dist/, in which every build has put its artefacts: checks that all are there and
// that the Worker is reproducible, and adds the bills of materials, the notes of the release, Homebrew's formula and SHA256SUMS.
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isMain, root } from "../lib/paths.mjs";
import { main, say } from "../lib/step.mjs";
import { sectionOf } from "./changelog.mjs";
import { PROGRAMS } from "./dependencies.mjs";
import { artefacts, CHECKSUMS, checksumsOf, NOTES } from "./distribution.mjs";
import { formulaOf, parseChecksums } from "./formula.mjs";
import { headTime } from "./git.mjs";
import { sbomOf } from "./sbom.mjs";
import { archiveOf, TARGETS } from "./targets.mjs";
import { currentVersion } from "./versions.mjs";

const BILLS = { command: (version) => `terrace-${version}.cdx.json`, worker: (version) => `terrace-worker-${version}.cdx.json` };

/** Rejects unless at least two builds of the Worker have left equal digests. Returns these. */
export async function requireEqualDigests(directory) {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".digests")).sort();
  if (names.length < 2) throw new Error(`${directory} holds the digests of ${names.length} builds of the Worker, and comparing needs two`);
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
  const other = texts.findIndex((text) => text !== texts[0]);
  if (other !== -1) throw new Error(`the builds of the Worker differ:\n${names[0]}:\n${texts[0]}${names[other]}:\n${texts[other]}`);
  return texts[0];
}

/** Rejects if the archive of a target is missing. */
export async function requireArchives(directory, version) {
  const names = await readdir(directory);
  const missing = TARGETS.map((target) => archiveOf(version, target)).filter((name) => !names.includes(name));
  if (missing.length > 0) throw new Error(`these archives are missing: ${missing.join(", ")}`);
}

async function assemble(directory, repository) {
  const version = await currentVersion(root);
  await requireArchives(directory, version);
  const digests = await requireEqualDigests(directory);
  for (const name of [CHECKSUMS, NOTES]) await rm(join(directory, name), { force: true });
  const time = await headTime(root);
  for (const name of Object.keys(PROGRAMS)) {
    await writeFile(join(directory, BILLS[name](version)), `${JSON.stringify(await sbomOf(name, time), null, 2)}\n`);
  }
  const archives = parseChecksums(await checksumsOf(directory, await artefacts(directory)));
  await writeFile(join(directory, "terrace.rb"), formulaOf(version, archives, repository));
  await writeFile(join(directory, CHECKSUMS), await checksumsOf(directory, await artefacts(directory)));
  const changes = sectionOf(await readFile(join(root, "CHANGELOG.md"), "utf8"), version) ?? "An unreleased version.";
  await writeFile(join(directory, NOTES), notesOf(version, changes, digests, repository));
  return artefacts(directory);
}

/** Returns the text of the release: its changes, and how its files are verified. */
export function notesOf(version, changes, digests, repository) {
  const name = repository.replace(/^https?:\/\/[^/]+\//, "");
  return `${changes}

## Verify

\`\`\`sh
sha256sum --check --ignore-missing SHA256SUMS
gh attestation verify terrace-${version}-x86_64-unknown-linux-musl.tar.gz --repo ${name}
\`\`\`

The Worker has the same bytes in two builds on different machines:

\`\`\`
${digests.trimEnd()}
\`\`\`
`;
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const manifest = await readFile(join(root, "Cargo.toml"), "utf8");
    const names = await assemble(join(root, "dist"), manifest.match(/^repository = "([^"]+)"/m)[1]);
    say(`dist/ is complete:\n  ${[...names, CHECKSUMS, NOTES].join("\n  ")}`);
  });
}
