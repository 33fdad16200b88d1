// `node scripts/release/check.mjs [TAG]`: checks that every file states the same version, that CHANGELOG.md describes it, and
// that the tag is `v` and this version. In GitHub Actions it also compares the repository with that of Cargo.toml, which
// installers use, and writes the outputs `version` and `targets`.
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";

import { isMain, root } from "../lib/paths.mjs";
import { main, say } from "../lib/step.mjs";
import { sectionOf } from "./release.mjs";
import { TARGETS } from "./targets.mjs";
import { currentVersion, parseVersion, writeVersions } from "./versions.mjs";

/** Returns the version of the checkout in `directory`, or rejects with all contradictions. Without a tag, only the files are compared. */
export async function checkRelease(directory, { tag = null, repository = null } = {}) {
  const version = parseVersion(await currentVersion(directory));
  const problems = (await writeVersions(directory, version, { dry: true })).map((file) => `${file} states another version than Cargo.toml, ${version}`);
  if (tag !== null) {
    const [changelog, manifest] = await Promise.all(["CHANGELOG.md", "Cargo.toml"].map((name) => readFile(join(directory, name), "utf8")));
    const url = manifest.match(/^repository = "([^"]+)"/m)?.[1];
    if (tag !== `v${version}`) problems.push(`the tag is ${tag}, and Cargo.toml states ${version}`);
    if (!sectionOf(changelog, version)) problems.push(`CHANGELOG.md has no section ${version}`);
    if (repository !== null && url !== repository) problems.push(`Cargo.toml names the repository ${url}, and this is ${repository}`);
  }
  if (problems.length > 0) throw new Error(`${problems.join("\n  ")}\n  \`npm run release\` writes the version into every file`);
  return version;
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_OUTPUT } = process.env;
    const repository = GITHUB_REPOSITORY ? `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}` : null;
    const version = await checkRelease(root, { tag: process.argv[2] || null, repository });
    say(`Every file states ${version}.`);
    if (GITHUB_OUTPUT) await appendFile(GITHUB_OUTPUT, `version=${version}\ntargets=${JSON.stringify(TARGETS)}\n`);
  });
}
