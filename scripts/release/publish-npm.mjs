// `node scripts/release/publish-npm.mjs [--dry-run]`: publishes the npm packages in dist/, which are built already, with the
// identity of the CI job ("trusted publishing", https://docs.npmjs.com/trusted-publishers). It runs no code of the packages.
// A version that npm has already with the same content is left as it is, so a failed release can be run again.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { atLeast } from "../lib/rust.mjs";
import { isMain, root } from "../lib/paths.mjs";
import { ask, run } from "../lib/run.mjs";
import { main, say } from "../lib/step.mjs";
import { channelsOf, minorOf, taggedVersions } from "./channels.mjs";
import { currentVersion, isPrerelease } from "./versions.mjs";

/** The first npm that publishes with the identity of a job. */
const NEEDED_NPM = "11.5.1";

/** Returns npm's name for the content of a package. */
export const integrityOf = (bytes) => `sha512-${createHash("sha512").update(bytes).digest("base64")}`;

/**
 * Returns npm's tag for a version with these channels. `npm install` without a version selects `latest`. Others need a tag, too,
 * which must not be a range of versions such as `1.2`.
 */
export function tagOf(version, { latest }) {
  if (isPrerelease(version)) return "next";
  return latest ? "latest" : `release-${minorOf(version)}`;
}

/** Returns the arguments of npm for a package file. */
export function publishArguments(file, tag, { dryRun }) {
  const args = ["publish", file, "--ignore-scripts", "--access", "public", "--tag", tag];
  return dryRun ? [...args, "--dry-run"] : [...args, "--provenance"];
}

async function publish(file, version, tag, options) {
  const { stdout } = await run("tar", ["-xzOf", file, "package/package.json"]);
  const described = JSON.parse(stdout);
  if (described.version !== version) throw new Error(`${file} has the version ${described.version}, and not ${version}`);
  const published = options.dryRun ? null : await ask("npm", ["view", `${described.name}@${version}`, "dist.integrity"]);
  if (published) {
    if (published !== integrityOf(await readFile(file))) throw new Error(`npm already has ${described.name}@${version} with another content`);
    return say(`${described.name}@${version} is published already`);
  }
  await run("npm", publishArguments(file, tag, options));
  say(`${described.name}@${version}: ${options.dryRun ? "would be published" : "published"} as ${tag}`);
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { values } = parseArgs({ options: { "dry-run": { type: "boolean", default: false } } });
    const npm = (await ask("npm", ["--version"])) ?? "0";
    if (!values["dry-run"] && !atLeast(npm, NEEDED_NPM)) throw new Error(`this is npm ${npm}: publishing needs ${NEEDED_NPM} or newer`);
    const directory = join(root, "dist");
    const files = (await readdir(directory)).filter((name) => name.endsWith(".tgz")).sort();
    if (files.length === 0) throw new Error("dist/ holds no package of npm: run `node scripts/release/worker.mjs first --pack`");
    const version = await currentVersion(root);
    const tag = tagOf(version, channelsOf(version, await taggedVersions(root)));
    for (const name of files) await publish(join(directory, name), version, tag, { dryRun: values["dry-run"] });
  });
}
