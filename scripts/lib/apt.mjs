// Packages of the distribution, if apt offers them and this user may install them.
import { Installable } from "./installable.mjs";
import { ask, onPath, run } from "./run.mjs";
import { step } from "./step.mjs";

/** The program of a package, which may be on PATH under other names, too. */
export const aptProgram = (name, ...otherNames) =>
  new Installable(name, () => [name, ...otherNames].map(onPath).find(Boolean), async (log) => {
    if (!(await aptOffers([name]))) throw new Error(`apt does not offer ${name}, or this user may not install packages`);
    await aptInstall([name], log);
  });

/** The latest call of apt-get. */
let latest = Promise.resolve();

/** Runs apt-get after the earlier calls, because it fails while another one holds its locks. */
function aptGet(args, options) {
  const call = latest.then(() => run("apt-get", args, options));
  latest = call.catch(() => {});
  return call;
}

/** Returns whether apt can install all of these here. */
export async function aptOffers(packages) {
  if (process.platform !== "linux" || process.getuid() !== 0) return false;
  if ((await ask("apt-get", ["--version"])) === null) return false;
  if (await aptKnows(packages)) return true;
  // A fresh container has no package lists.
  await step("apt-get update", (log) => aptGet(["update"], { log }));
  return aptKnows(packages);
}

async function aptKnows(packages) {
  const known = await ask("apt-cache", ["policy", ...packages]);
  const candidates = known?.match(/Candidate: (?!\(none\))/g) ?? [];
  return candidates.length === packages.length;
}

/** Installs packages after `aptOffers`, without removing others. */
export async function aptInstall(packages, log) {
  const install = ["install", "-y", "--no-install-recommends", "--no-remove", ...packages];
  const options = { log, env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
  const { code } = await aptGet(install, { ...options, check: false });
  if (code === 0) return;
  // Old package lists contain versions that the mirror no longer has.
  await aptGet(["update"], options);
  await aptGet(install, options);
}
