// `node scripts/release/image.mjs IMAGE [--push]`: builds the container image of the `terrace` command from the
// archives in dist/, for each platform that it is released for. It compiles nothing. With `--push` it is pushed under its
// version, and under its minor version and `latest` if no newer version has them; in GitHub Actions, the outputs are
// `image` and `digest`.
import { access, appendFile, chmod, copyFile, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { Cleanup, temporaryDirectory } from "../lib/cleanup.mjs";
import { isMain, root } from "../lib/paths.mjs";
import { run } from "../lib/run.mjs";
import { main, say, step } from "../lib/step.mjs";
import { LICENCES_FILE } from "./licences.mjs";
import { archiveOf, stemOf, TARGETS } from "./targets.mjs";
import { channelsOf, currentVersion, minorOf, taggedVersions } from "./versions.mjs";

const RELEASED = TARGETS.filter(({ container }) => container);

/** Returns the names of the image of a version with these channels. */
export function namesOf(image, version, { latest, minor }) {
  const tags = [version, ...(minor ? [minorOf(version)] : []), ...(latest ? ["latest"] : [])];
  return tags.map((tag) => `${image}:${tag}`);
}

/** Writes what the Dockerfile copies into `context`: a directory for each platform, and /tmp. */
export async function stage(archives, context, version) {
  await mkdir(join(context, "tmp"));
  await chmod(join(context, "tmp"), 0o1777);
  await run("tar", ["--create", "--file", join(context, "tmp.tar"), "--directory", context, "tmp"]);
  await copyFile(join(root, "scripts", "release", "Dockerfile"), join(context, "Dockerfile"));
  for (const target of RELEASED) {
    const directory = join(context, target.container);
    await mkdir(directory);
    await run("tar", ["-xzf", join(archives, archiveOf(version, target)), "-C", directory, "--strip-components=1"]);
    for (const name of ["README.md", "CHANGELOG.md"]) await rm(join(directory, name));
    await access(join(directory, LICENCES_FILE));
    say(`  ${target.container}: ${stemOf(version, target)}`);
  }
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { push: { type: "boolean", default: false } } });
    // Names of images have no capital letters, and those of GitHub's owners may.
    const image = positionals[0]?.toLowerCase();
    if (!image) throw new Error("usage: node scripts/release/image.mjs IMAGE [--push]");
    const version = await currentVersion(root);
    const cleanup = new Cleanup();
    const context = temporaryDirectory(cleanup);
    try {
      await stage(join(root, "dist"), context, version);
      const platforms = RELEASED.map(({ container }) => `linux/${container}`).join(",");
      const tags = namesOf(image, version, channelsOf(version, await taggedVersions(root))).flatMap((name) => ["--tag", name]);
      const metadata = join(context, "metadata.json");
      const args = ["buildx", "build", "--platform", platforms, "--provenance=false", "--metadata-file", metadata, ...tags];
      if (values.push) args.push("--push");
      await step(`building ${image}:${version}`, (log) => run("docker", [...args, context], { log }));
      if (!values.push) return;
      const digest = JSON.parse(await readFile(metadata, "utf8"))["containerimage.digest"];
      say(`${image}@${digest}`);
      if (process.env.GITHUB_OUTPUT) await appendFile(process.env.GITHUB_OUTPUT, `image=${image}\ndigest=${digest}\n`);
    } finally {
      await cleanup.run();
    }
  });
}
