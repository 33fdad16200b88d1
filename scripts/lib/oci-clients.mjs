// Clients of OCI registries by other people, and one of ours on the library that is inside OpenTofu and ORAS: for the tests
// alone, so that none of them has to be there. What is on PATH is taken as it is; what can neither be found nor brought is
// reported, and its tests are skipped with the reason.
import { join } from "node:path";

import { aptInstall, aptOffers } from "./apt.mjs";
import { go, goInstall, requireGo } from "./go.mjs";
import { exe, root, stateDir } from "./paths.mjs";
import { ask, isOnPath, lastLine } from "./run.mjs";
import { unlessCurrent } from "./stamp.mjs";
import { say, step } from "./step.mjs";

/** Each brings a program and returns its directory, if that has to be put on PATH, or throws why it cannot. */
const CLIENTS = {
  crane: () => goInstall("crane", "github.com/google/go-containerregistry/cmd/crane", "v0.22.1"),
  regctl: () => goInstall("regctl", "github.com/regclient/regclient/cmd/regctl", "v0.11.7"),
  skopeo: () => fromApt("skopeo"),
  "oras-go-client": () => goBuild("oras-go-client", join("tests", "clients", "oras-go")),
  // No clients, but built like them: the libraries of OpenTofu, and of Terraform, that judge what the core judges.
  "go-oracles": () => goBuild("go-oracles", join("tests", "clients", "go-oracles")),
  "go-oracles-terraform": () => goBuild("go-oracles-terraform", join("tests", "clients", "go-oracles"), ["-modfile", "terraform.mod"]),
};

/** Brings what is missing. Returns the directories to put on PATH, and why a program is not there, by its name. */
export async function ensureOciClients() {
  const directories = [];
  const reasons = {};
  // They would have to be told of a CA, which works on Linux only.
  if (process.platform !== "linux") return { directories, reasons };
  for (const [name, bring] of Object.entries(CLIENTS)) {
    if (isOnPath(name)) continue;
    try {
      const directory = await bring();
      if (directory) directories.push(directory);
    } catch (error) {
      reasons[name] = `${name} is not on PATH, and ${error.message}`;
      say(`- ${reasons[name]}`);
    }
  }
  return { directories, reasons };
}

/** A program whose source is in this checkout. */
async function goBuild(name, source, flags = []) {
  await requireGo();
  const home = join(stateDir, "clients");
  const output = join(home, exe(name));
  try {
    const also = await ask("go", ["version"]);
    await unlessCurrent(name, { inputs: [source], outputs: [join(".terrace", "clients", exe(name))], also }, () =>
      step(`building ${name}`, (log) => go(["build", ...flags, "-o", output, "."], { log, cwd: join(root, source) })),
    );
  } catch (error) {
    throw new Error(`it could not be built: ${lastLine(error)}`);
  }
  return home;
}

/** A program that the distribution has. It is on PATH from then on. */
async function fromApt(name) {
  try {
    if (!(await aptOffers([name]))) throw new Error("apt does not offer it, or we may not install it");
    await step(`installing ${name}`, (log) => aptInstall([name], log));
  } catch (error) {
    throw new Error(`it could not be installed: ${lastLine(error)}`);
  }
}
