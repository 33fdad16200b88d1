// The programs that tests run and that are not part of the project: clients, a browser, object stores, oracles, linters. Tests
// use those on PATH and in the user's cache, and install none; `npm run clients` installs the missing ones.
import { dirname } from "node:path";

import { aptProgram } from "./apt.mjs";
import { goBuilt, goProgram, removeGoCaches } from "./go.mjs";
import { npmTool } from "./npm-tools.mjs";
import { pipPackage } from "./pip.mjs";
import { isOnPath, onPath } from "./run.mjs";

const OPENTOFU = "github.com/opentofu/opentofu";

/**
 * The last Terraform that verifies signatures with golang.org/x/crypto/openpgp, which does not support Ed25519 keys. It is in
 * wide use, because it is the last one under the old licence.
 */
export const OLD_TERRAFORM = "terraform v1.5.7";

/** Programs in the cache that go on PATH. */
const BUILT = {
  crane: goProgram("crane", "github.com/google/go-containerregistry/cmd/crane", "v0.22.1"),
  regctl: goProgram("regctl", "github.com/regclient/regclient/cmd/regctl", "v0.11.7"),
  oras: goProgram("oras", "oras.land/oras/cmd/oras", "v1.3.6"),
  tofu: goBuilt("tofu", "opentofu", ["-ldflags", `-s -w -X ${OPENTOFU}/version.dev=no`], { target: `${OPENTOFU}/cmd/tofu`, version: "v1.12.6" }),
  versitygw: goProgram("versitygw", "github.com/versity/versitygw/cmd/versitygw", "v1.8.0"),
  "terraform-config-inspect": goProgram("terraform-config-inspect", "github.com/hashicorp/terraform-config-inspect", "v0.0.0-20260904064934-75d64de68c31"),
  actionlint: goProgram("actionlint", "github.com/rhysd/actionlint/cmd/actionlint", "v1.7.12"),
  // Ours: clients over the libraries of OpenTofu, ORAS and an SDK, and the libraries that judge the same input as the core.
  "oras-go-client": goBuilt("oras-go-client", "oras-go"),
  "mcp-go-client": goBuilt("mcp-go-client", "mcp-go"),
  "public-api": goBuilt("public-api", "public-api"),
  "go-oracles": goBuilt("go-oracles", "go-oracles"),
  "go-oracles-terraform": goBuilt("go-oracles-terraform", "go-oracles", ["-modfile", "terraform.mod"]),
};

/** All clients by name. Installations of a group follow each other: Go uses all cores, and apt-get fails beside another one. */
const GROUPS = [
  { ...BUILT, [OLD_TERRAFORM]: goProgram("terraform", "github.com/hashicorp/terraform", "v1.5.7") },
  { skopeo: aptProgram("skopeo"), chromium: aptProgram("chromium", "chromium-browser", "google-chrome") },
  {
    // The official TypeScript SDK for revisions of MCP up to 2025-11-25, and for later ones.
    "@modelcontextprotocol/sdk": npmTool("@modelcontextprotocol/sdk", "1.32.2"),
    "@modelcontextprotocol/client": npmTool("@modelcontextprotocol/client", "2.4.0"),
    "@modelcontextprotocol/inspector": npmTool("@modelcontextprotocol/inspector", "2.12.0"),
    azurite: npmTool("azurite", "3.37.0"),
  },
  { moto: pipPackage("moto", "5.2.1", "moto", "[server,s3]"), zizmor: pipPackage("zizmor", "1.32.0", "bin/zizmor") },
  { terraform: { find: () => onPath("terraform"), ensure: () => Promise.reject(new Error("put it on PATH: the tests require it")) } },
];

export const CLIENTS = Object.assign({}, ...GROUPS);

/** Returns the path of a program, or of a file in a package; `undefined` if it is absent. A program on PATH counts first. */
export const find = (name) => (name in CLIENTS && !(name in BUILT) ? CLIENTS[name].find() : (onPath(name) ?? BUILT[name]?.find()));

/** Returns the reason why a program is absent, or `false`. */
export function whyAbsent(name) {
  if (find(name)) return false;
  return name in CLIENTS ? `${name} is neither on PATH nor in the cache: npm run clients provides it` : `${name} is not on PATH`;
}

/** Returns the directories in the cache to put on PATH. */
export function cachedDirectories() {
  const cached = Object.entries(BUILT).filter(([name]) => !isOnPath(name));
  return cached.map(([, client]) => client.find()).filter(Boolean).map(dirname);
}

/** Installs the absent ones. Returns the errors of those that cannot be installed, by name. */
export async function provideClients() {
  const errors = {};
  const provide = async (group) => {
    for (const [name, client] of Object.entries(group)) if (!find(name)) await client.ensure().catch((error) => (errors[name] = error));
  };
  await Promise.all(GROUPS.map(provide));
  await removeGoCaches();
  return errors;
}
