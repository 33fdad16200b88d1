// OpenTofu, OCI clients of other projects, and one of ours that uses the library of OpenTofu and ORAS. Only the tests
// use them, and none is required. Programs on PATH are used as they are. A program that is neither on PATH
// nor installable is reported, and its tests are skipped with the reason.
import { join } from "node:path";

import { aptInstall, aptOffers } from "./apt.mjs";
import { go, goInstall, goInstallFrom, requireGo } from "./go.mjs";
import { exe, root, stateDir } from "./paths.mjs";
import { ask, isOnPath, lastLine } from "./run.mjs";
import { unlessCurrent } from "./stamp.mjs";
import { say, step } from "./step.mjs";

const OPENTOFU = "github.com/opentofu/opentofu";

/** Installs each program and returns its directory, if it has to be put on PATH, or throws the reason why it cannot. */
const CLIENTS = {
  crane: () => goInstall("crane", "github.com/google/go-containerregistry/cmd/crane", "v0.22.1"),
  regctl: () => goInstall("regctl", "github.com/regclient/regclient/cmd/regctl", "v0.11.7"),
  oras: () => goInstall("oras", "oras.land/oras/cmd/oras", "v1.3.6"),
  tofu: () => goInstallFrom(join("tests", "clients", "opentofu"), "tofu", `${OPENTOFU}/cmd/tofu`, "v1.12.6", `${OPENTOFU}/version.dev=no`),
  skopeo: () => fromApt("skopeo"),
  "oras-go-client": () => goBuild("oras-go-client", join("tests", "clients", "oras-go")),
  // These are no clients of OCI, but built in the same way: the libraries of OpenTofu and Terraform that judge the same input
  // as the core, and a client of the Model Context Protocol.
  "go-oracles": () => goBuild("go-oracles", join("tests", "clients", "go-oracles")),
  "mcp-go-client": () => goBuild("mcp-go-client", join("tests", "clients", "mcp-go")),
  "public-api": () => goBuild("public-api", join("tests", "clients", "public-api")),
  "go-oracles-terraform": () => goBuild("go-oracles-terraform", join("tests", "clients", "go-oracles"), ["-modfile", "terraform.mod"]),
  "terraform-config-inspect": () =>
    goInstall("terraform-config-inspect", "github.com/hashicorp/terraform-config-inspect", "v0.0.0-20260904064934-75d64de68c31"),
  // An object store of another project, which `terrace serve` is tested with.
  versitygw: () => goInstall("versitygw", "github.com/versity/versitygw/cmd/versitygw", "v1.8.0"),
};

/** Installs the missing programs. Returns the directories to put on PATH, and the reason for each missing program, by name. */
export async function ensureOciClients() {
  const directories = [];
  const reasons = {};
  // They would need a local CA, which can be configured only on Linux.
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

/** Builds a program from the source in this checkout. */
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

/** Installs a program from the distribution, which puts it on PATH. */
async function fromApt(name) {
  try {
    if (!(await aptOffers([name]))) throw new Error("apt does not offer it, or this user may not install packages");
    await step(`installing ${name}`, (log) => aptInstall([name], log));
  } catch (error) {
    throw new Error(`it could not be installed: ${lastLine(error)}`);
  }
}
