// `node scripts/release/assemble.mjs`: completes dist/, in which every build has put its artefacts: checks that all are there and
// that the Worker is reproducible, and adds the bills of materials, the notes of the release, Homebrew's formula and SHA256SUMS.
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { isMain, root } from "../lib/paths.mjs";
import { ask } from "../lib/run.mjs";
import { sha256 } from "../lib/sha256.mjs";
import { main, say } from "../lib/step.mjs";
import { formulaOf } from "./formula.mjs";
import { sectionOf } from "./release.mjs";
import { sbomOf } from "./sbom.mjs";
import { archiveOf, TARGETS } from "./targets.mjs";
import { currentVersion } from "./versions.mjs";

export const CHECKSUMS = "SHA256SUMS";
/** The notes are the text of the release, not a file of it. */
export const NOTES = "NOTES.md";

const BILLS = { command: (version) => `terrace-${version}.cdx.json`, worker: (version) => `terrace-worker-${version}.cdx.json` };

/** Rejects unless at least two builds of the Worker have left equal digests. Returns these. */
export async function requireEqualDigests(directory) {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".digests")).sort();
  if (names.length < 2) throw new Error(`${directory} holds the digests of ${names.length} builds of the Worker, and comparing needs two`);
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
  if (new Set(texts).size > 1) throw new Error(`the builds of the Worker differ:\n${names.map((name, at) => `${name}:\n${texts[at]}`).join("")}`);
  return texts[0];
}

/** Rejects if the archive of a target is missing. */
export async function requireArchives(directory, version) {
  const names = await readdir(directory);
  const missing = TARGETS.map((target) => archiveOf(version, target)).filter((name) => !names.includes(name));
  if (missing.length > 0) throw new Error(`these archives are missing: ${missing.join(", ")}`);
}

/** Returns the names of the files of a release in `directory`: all but checksums, notes, and the digests of other builds. */
export async function artefacts(directory) {
  const names = await readdir(directory);
  return names.filter((name) => ![CHECKSUMS, NOTES].includes(name) && !name.endsWith(".digests")).sort();
}

/** Returns the digests of these files, by name. */
async function digestsOf(directory, names) {
  return new Map(await Promise.all(names.map(async (name) => [name, sha256(await readFile(join(directory, name)))])));
}

/** Writes SHA256SUMS. */
export async function writeChecksums(directory) {
  const digests = await digestsOf(directory, await artefacts(directory));
  await writeFile(join(directory, CHECKSUMS), [...digests].map(([name, digest]) => `${digest}  ${name}\n`).join(""));
}

async function assemble(directory, repository) {
  const version = await currentVersion(root);
  await requireArchives(directory, version);
  const digests = await requireEqualDigests(directory);
  for (const name of [CHECKSUMS, NOTES]) await rm(join(directory, name), { force: true });
  // That of the commit, so that documents of one commit are equal.
  const seconds = await ask("git", ["log", "-1", "--format=%ct"], { cwd: root });
  const time = new Date(Number(seconds) * 1000).toISOString();
  for (const [program, nameOf] of Object.entries(BILLS)) {
    await writeFile(join(directory, nameOf(version)), `${JSON.stringify(await sbomOf(program, time), null, 2)}\n`);
  }
  await writeFile(join(directory, "terrace.rb"), formulaOf(version, await digestsOf(directory, await artefacts(directory)), repository));
  await writeChecksums(directory);
  const changes = sectionOf(await readFile(join(root, "CHANGELOG.md"), "utf8"), version) ?? "An unreleased version.";
  await writeFile(join(directory, NOTES), notesOf(version, changes, digests, repository));
  return artefacts(directory);
}

/** Returns the text of the release: its changes, and how its files are verified. */
function notesOf(version, changes, digests, repository) {
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
