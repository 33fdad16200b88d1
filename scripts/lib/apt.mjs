// Packages of the distribution, if apt offers them and this user may install them.
import { ask, run } from "./run.mjs";
import { step } from "./step.mjs";

/** The latest call of apt-get. */
let latest = Promise.resolve();

/** Runs apt-get after the earlier calls, because it fails while another one holds its locks. */
function aptGet(args, log) {
  const call = latest.then(() => run("apt-get", args, { log, env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } }));
  latest = call.catch(() => {});
  return call;
}

/** Returns whether apt can install all of these here. A fresh container has no package lists. */
export async function aptOffers(packages) {
  if (process.platform !== "linux" || process.getuid() !== 0 || (await ask("apt-get", ["--version"])) === null) return false;
  const knows = async () => (await ask("apt-cache", ["policy", ...packages]))?.match(/Candidate: (?!\(none\))/g)?.length === packages.length;
  if (await knows()) return true;
  await step("apt-get update", (log) => aptGet(["update"], log));
  return knows();
}

/** Installs packages after `aptOffers`, without removing others. */
export async function aptInstall(packages, log) {
  const install = ["install", "-y", "--no-install-recommends", "--no-remove", ...packages];
  // Old package lists contain versions that the mirror no longer has.
  await aptGet(install, log).catch(() => aptGet(["update"], log).then(() => aptGet(install, log)));
}
