// Packages of the distribution, where apt offers them and we may install them.
import { ask, run } from "./run.mjs";
import { step } from "./step.mjs";

/** Whether apt can install all of these here. */
export async function aptOffers(packages) {
  if (process.platform !== "linux" || process.getuid() !== 0) return false;
  if ((await ask("apt-get", ["--version"])) === null) return false;
  if (await aptKnows(packages)) return true;
  // A fresh container has no package lists yet.
  await step("apt-get update", (log) => run("apt-get", ["update"], { log }));
  return aptKnows(packages);
}

async function aptKnows(packages) {
  const known = await ask("apt-cache", ["policy", ...packages]);
  const candidates = known?.match(/Candidate: (?!\(none\))/g) ?? [];
  return candidates.length === packages.length;
}

/** Installs what `aptOffers`, and removes nothing for it. */
export async function aptInstall(packages, log) {
  const install = ["install", "-y", "--no-install-recommends", "--no-remove", ...packages];
  const options = { log, env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
  const { code } = await run("apt-get", install, { ...options, check: false });
  if (code === 0) return;
  // Old package lists name versions that the mirror has replaced.
  await run("apt-get", ["update"], options);
  await run("apt-get", install, options);
}
