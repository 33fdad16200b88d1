// `node scripts/release/publish-npm.mjs [--dry-run]`: publishes the npm packages in dist/, which are built already, with the
// identity of the CI job ("trusted publishing", https://docs.npmjs.com/trusted-publishers). It runs no code of the packages.
// A version that npm has already with the same content is left as it is, so a failed release can be run again.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { isMain, root } from "../lib/paths.mjs";
import { ask, run } from "../lib/run.mjs";
import { main, say } from "../lib/step.mjs";
import { integrityOf } from "../pack.mjs";
import { channelsOf, currentVersion, isPrerelease, minorOf, taggedVersions } from "./versions.mjs";

/**
 * Returns npm's tag for a version with these channels. `npm install` without a version selects `latest`. Others need a tag, too,
 * which must not be a range of versions such as `1.2`.
 */
export function tagOf(version, { latest }) {
  if (isPrerelease(version)) return "next";
  return latest ? "latest" : `release-${minorOf(version)}`;
}

async function publish(file, version, tag, { dryRun }) {
  const { stdout } = await run("tar", ["-xzOf", file, "package/package.json"]);
  const described = JSON.parse(stdout);
  if (described.version !== version) throw new Error(`${file} has the version ${described.version}, and not ${version}`);
  const published = dryRun ? null : await ask("npm", ["view", `${described.name}@${version}`, "dist.integrity"]);
  if (published) {
    if (published !== (await integrityOf(file))) throw new Error(`npm already has ${described.name}@${version} with another content`);
    return say(`${described.name}@${version} is published already`);
  }
  await run("npm", ["publish", file, "--ignore-scripts", "--access", "public", "--tag", tag, dryRun ? "--dry-run" : "--provenance"]);
  say(`${described.name}@${version}: ${dryRun ? "would be published" : "published"} as ${tag}`);
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { values } = parseArgs({ options: { "dry-run": { type: "boolean", default: false } } });
    const directory = join(root, "dist");
    const files = (await readdir(directory)).filter((name) => name.endsWith(".tgz")).sort();
    if (files.length === 0) throw new Error("dist/ holds no package of npm: run `node scripts/release/worker.mjs first --pack`");
    const version = await currentVersion(root);
    const tag = tagOf(version, channelsOf(version, await taggedVersions(root)));
    for (const name of files) await publish(join(directory, name), version, tag, { dryRun: values["dry-run"] });
  });
}
