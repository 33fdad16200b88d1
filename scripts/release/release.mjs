// `npm run release -- X.Y.Z`: writes the version into every file, turns the unreleased changes into its section of CHANGELOG.md,
// commits and tags. It pushes nothing: the push of the tag starts .github/workflows/release.yml. docs/releasing.md describes
// the whole process.
//
// `--dry-run` checks everything and changes nothing.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { isMain, root } from "../lib/paths.mjs";
import { ask, run } from "../lib/run.mjs";
import { main, say } from "../lib/step.mjs";
import { compareVersions, currentVersion, parseVersion, writeVersions } from "./versions.mjs";

const UNRELEASED = "## [Unreleased]";

/** Returns the text of CHANGELOG.md with the unreleased changes as the section of a version, below a new, empty section. */
function released(text, version, date) {
  if (sectionOf(text, version) !== null) throw new Error(`CHANGELOG.md already has a section ${version}`);
  if (!section(text, UNRELEASED)) throw new Error(`CHANGELOG.md names no unreleased changes: describe in ${UNRELEASED} what users notice`);
  return text.replace(UNRELEASED, `${UNRELEASED}\n\n## [${version}] - ${date}`);
}

/** Returns the changes of a version: the notes of its release. `null` if there is no such section. */
export const sectionOf = (text, version) => section(text, `## [${version}] - `);

function section(text, heading) {
  const found = `\n${text}`.split("\n## ").find((part) => `## ${part}`.startsWith(heading));
  return found === undefined ? null : found.slice(found.indexOf("\n") + 1).trim();
}

/** Makes the commit and the tag of a release in `directory`. Returns the names of the changed files. */
export async function release(directory, text, { date, dryRun = false }) {
  const version = parseVersion(text);
  const [tag, message] = [`v${version}`, `release: ${version}`];
  const git = async (...args) => (await run("git", args, { cwd: directory })).stdout.trimEnd();
  const current = await currentVersion(directory);
  if (compareVersions(version, current) < 0) throw new Error(`${version} is older than ${current}, the version of this checkout`);
  const changes = await git("status", "--porcelain");
  if (changes !== "") throw new Error(`there are changes that are not committed; commit or stash them, then run this again:\n${changes}`);
  if ((await ask("git", ["rev-parse", "--verify", "--quiet", `refs/tags/${tag}`], { cwd: directory })) !== null) {
    throw new Error(`the tag ${tag} exists: a released version never changes, so choose the next one`);
  }
  const file = join(directory, "CHANGELOG.md");
  const changelog = released(await readFile(file, "utf8"), version, date);
  if (dryRun) return [];
  await writeFile(file, changelog);
  const changed = ["CHANGELOG.md", ...(await writeVersions(directory, version))];
  await git("commit", "--quiet", "--all", "--message", message);
  await git("tag", "--annotate", tag, "--message", message);
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
