// `npm run release -- X.Y.Z`: writes the version into every file, turns the unreleased changes into its section of CHANGELOG.md,
// commits and tags. It pushes nothing: the push of the tag starts .github/workflows/release.yml. docs/releasing.md describes
// the whole process.
//
// `--dry-run` checks everything and changes nothing.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { isMain, root } from "../lib/paths.mjs";
import { main, say } from "../lib/step.mjs";
import { released } from "./changelog.mjs";
import { commitAndTag, requireCleanTree, requireNoTag } from "./git.mjs";
import { compareVersions, currentVersion, parseVersion, writeVersions } from "./versions.mjs";

/** Makes the commit and the tag of a release in `directory`. Returns the names of the changed files. */
export async function release(directory, text, { date, dryRun = false }) {
  const version = parseVersion(text);
  const tag = `v${version}`;
  const current = await currentVersion(directory);
  if (compareVersions(version, current) < 0) throw new Error(`${version} is older than ${current}, the version of this checkout`);
  await requireCleanTree(directory);
  await requireNoTag(directory, tag);
  const file = join(directory, "CHANGELOG.md");
  const changelog = released(await readFile(file, "utf8"), version, date);
  if (dryRun) return [];
  await writeFile(file, changelog);
  const changed = ["CHANGELOG.md", ...(await writeVersions(directory, version))];
  await commitAndTag(directory, { message: `release: ${version}`, tag });
  return changed;
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { "dry-run": { type: "boolean", default: false } } });
    const [version] = positionals;
    if (positionals.length !== 1) throw new Error("usage: npm run release -- X.Y.Z [--dry-run]");
    const date = new Date().toISOString().slice(0, 10);
    const changed = await release(root, version, { date, dryRun: values["dry-run"] });
    if (values["dry-run"]) return say(`${version} can be released. Nothing was changed.`);
    say(`Committed and tagged v${version}: ${changed.join(", ")}.`);
    say(`Inspect the commit, then publish it: git push origin HEAD v${version}`);
    say(`To undo it instead: git tag --delete v${version} && git reset --hard HEAD~1`);
  });
}
