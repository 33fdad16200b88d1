// `node scripts/release/publish-github.mjs TAG [--dry-run]`: creates the release of a tag at GitHub from dist/. gh publishes it
// once all files are uploaded.
import { join } from "node:path";
import { parseArgs } from "node:util";

import { isMain, root } from "../lib/paths.mjs";
import { run } from "../lib/run.mjs";
import { main, say } from "../lib/step.mjs";
import { artefacts, CHECKSUMS, NOTES } from "./assemble.mjs";
import { channelsOf, isPrerelease, parseVersion, taggedVersions } from "./versions.mjs";

/** Returns the arguments of gh for these files. GitHub shows one release as the latest. */
export function releaseArguments(tag, directory, names, { latest }) {
  const files = [...names, CHECKSUMS].map((name) => join(directory, name));
  const args = ["release", "create", tag, ...files, "--verify-tag", "--title", tag, "--notes-file", join(directory, NOTES)];
  return isPrerelease(tag) ? [...args, "--prerelease"] : [...args, `--latest=${latest}`];
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { "dry-run": { type: "boolean", default: false } } });
    const [tag] = positionals;
    if (!tag) throw new Error("usage: node scripts/release/publish-github.mjs TAG [--dry-run]");
    const directory = join(root, "dist");
    const channels = channelsOf(parseVersion(tag.replace(/^v/, "")), await taggedVersions(root));
    const args = releaseArguments(tag, directory, await artefacts(directory), channels);
    if (values["dry-run"]) return say(`gh ${args.join(" ")}`);
    await run("gh", args);
    say(`the release ${tag} is published`);
  });
}
