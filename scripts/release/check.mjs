// `node scripts/release/check.mjs [TAG]`: checks that every file states the same version, that CHANGELOG.md describes it, and
// that the tag is `v` and this version. In GitHub Actions it also compares the repository with that of Cargo.toml, which
// installers use, and writes the outputs `version`, `prerelease` and `targets`.
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";

import { isMain, root } from "../lib/paths.mjs";
import { main, say } from "../lib/step.mjs";
import { sectionOf } from "./changelog.mjs";
import { TARGETS } from "./targets.mjs";
import { currentVersion, isPrerelease, parseVersion, statedVersions } from "./versions.mjs";

/** Returns the version of the checkout in `directory`, or rejects with all contradictions. Without a tag, only the files are compared. */
export async function checkRelease(directory, { tag = null, repository = null } = {}) {
  const version = parseVersion(await currentVersion(directory));
  const problems = [];
  for (const stated of await statedVersions(directory)) {
    if (stated.version !== version) problems.push(`${stated.file} states ${stated.version}, and Cargo.toml ${version}`);
  }
  if (tag !== null) {
    if (tag !== `v${version}`) problems.push(`the tag is ${tag}, and Cargo.toml states ${version}`);
    const changelog = await readFile(join(directory, "CHANGELOG.md"), "utf8");
    if (!sectionOf(changelog, version)) problems.push(`CHANGELOG.md has no section ${version}`);
    const manifest = await readFile(join(directory, "Cargo.toml"), "utf8");
    const url = manifest.match(/^repository = "([^"]+)"/m)?.[1];
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
    if (!GITHUB_OUTPUT) return;
    const outputs = { version, prerelease: isPrerelease(version), targets: JSON.stringify(TARGETS) };
    await appendFile(GITHUB_OUTPUT, Object.entries(outputs).map(([name, value]) => `${name}=${value}\n`).join(""));
  });
}
