// `node scripts/release/older.mjs`: fetches the Worker of the release before this commit from npm, for the test of upgrades
// (tests/clients/worker/upgrade.test.mjs), and prints its directory. In GitHub Actions, later steps get it as
// TERRACE_OLDER_WORKER.
import { appendFile, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";

import { isMain, root } from "../lib/paths.mjs";
import { run } from "../lib/run.mjs";
import { main, say } from "../lib/step.mjs";
import { taggedVersions } from "./channels.mjs";
import { compareVersions, isPrerelease, WORKER } from "./versions.mjs";

/** Returns the newest release with a tag that is not on the checked-out commit; `null` before the first release. */
export async function olderRelease(directory) {
  const own = new Set(await taggedVersions(directory, "HEAD"));
  const others = (await taggedVersions(directory)).filter((version) => !own.has(version) && !isPrerelease(version));
  return others.sort(compareVersions).at(-1) ?? null;
}

/** Unpacks the package of a version below `directory`, and returns the directory of its files. npm checks its digest. */
async function fetchWorker(version, directory) {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const { stdout } = await run("npm", ["pack", `${WORKER}@${version}`, "--json", "--ignore-scripts", "--pack-destination", directory]);
  const [{ filename }] = JSON.parse(stdout);
  await run("tar", ["-xzf", join(directory, filename), "-C", directory]);
  return join(directory, "package");
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const version = await olderRelease(root);
    if (version === null) return say("No other commit has the tag of a release, so there is no older Worker to upgrade from.");
    const directory = await fetchWorker(version, join(root, ".terrace", "older"));
    say(`${directory}: ${WORKER} ${version}`);
    if (process.env.GITHUB_ENV) await appendFile(process.env.GITHUB_ENV, `TERRACE_OLDER_WORKER=${directory}\n`);
  });
}
