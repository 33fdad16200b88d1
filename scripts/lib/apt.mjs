// Packages of the distribution, if apt offers them and this user may install them.
import { ask, run } from "./run.mjs";
import { step } from "./step.mjs";

/** Returns whether apt can install all of these here. */
export async function aptOffers(packages) {
  if (process.platform !== "linux" || process.getuid() !== 0) return false;
  if ((await ask("apt-get", ["--version"])) === null) return false;
  if (await aptKnows(packages)) return true;
  // A fresh container has no package lists.
  await step("apt-get update", (log) => run("apt-get", ["update"], { log }));
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
  const { code } = await run("apt-get", install, { ...options, check: false });
  if (code === 0) return;
  // Old package lists contain versions that the mirror no longer has.
  await run("apt-get", ["update"], options);
  await run("apt-get", install, options);
}
