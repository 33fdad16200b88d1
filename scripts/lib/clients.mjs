// The programs that tests run and that are not part of the project: clients, a browser, object stores, oracles, linters. Tests
// use those on PATH and in the user's cache, and install none; `npm run clients` installs the missing ones.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";

import { aptInstall, aptOffers } from "./apt.mjs";
import { cached, installable } from "./installed.mjs";
import { npmInstall } from "./npm.mjs";
import { cacheDir, exe, root } from "./paths.mjs";
import { isOnPath, onPath, run } from "./run.mjs";

/** Longer than the largest build or download, and short enough if a proxy hangs. */
const PATIENCE_MS = 30 * 60_000;

/** Go's caches while this process builds: those of all clients take 6 GB, as much as the tests, and no later build uses them. */
const GO_CACHES = join(cacheDir, `go.partial-${process.pid}`);

/** Runs Go without cgo, so that no C compiler is needed, and without a workspace file of a parent directory. */
function go(args, { env, ...options }) {
  const caches = { GOCACHE: join(GO_CACHES, "build"), GOMODCACHE: join(GO_CACHES, "modules"), GOFLAGS: `${process.env.GOFLAGS ?? ""} -modcacherw`.trim() };
  return run("go", args, { ...options, timeout: PATIENCE_MS, env: { ...process.env, ...caches, CGO_ENABLED: "0", GOWORK: "off", ...env } });
}

/** A program from Go's module proxy. */
const goProgram = (name, path, version) => cached(name, version, exe(name), (home, log) => go(["install", `${path}@${version}`], { log, env: { GOBIN: home } }));

/**
 * A program that is built in a module of this checkout: one of ours, whose version is the digest of its sources, or `target`,
 * which `go install` rejects because it replaces one of its dependencies. The `go.mod` of the checkout repeats the replacement,
 * and its `go.sum` holds all checksums.
 */
function goBuilt(name, module, flags = [], { target = ".", version } = {}) {
  const cwd = join(root, "tests", "clients", module);
  return cached(name, version ?? digest(cwd), exe(name), (home, log) => go(["build", ...flags, "-o", join(home, exe(name)), target], { log, cwd }));
}

function digest(directory) {
  const hash = createHash("sha256");
  for (const name of readdirSync(directory).sort()) hash.update(`${name}\0`).update(readFileSync(join(directory, name)));
  return hash.digest("hex").slice(0, 12);
}

/** A package from npm that is no dependency of the project: with its own, each is larger than all of those. */
const npmTool = (name, version) => cached(name, version, join("node_modules", name), (home, log) => npmInstall(`${name}@${version}`, home, log));

/** A program from PyPI. */
const pipProgram = (name, version) =>
  cached(name, version, join("bin", name), (home, log) => {
    const args = ["-m", "pip", "install", "--quiet", "--no-compile", "--only-binary", ":all:", "--target", home, `${name}==${version}`];
    return run("python3", args, { log, timeout: PATIENCE_MS });
  });

/** A program of the distribution, which may be on PATH under other names, too. */
const aptProgram = (name, ...others) =>
  installable(name, () => [name, ...others].map(onPath).find(Boolean), async (log) => {
    if (!(await aptOffers([name]))) throw new Error(`apt does not offer ${name}, or this user may not install packages`);
    await aptInstall([name], log);
  });

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
  // Ours: the libraries of clients that judge the same input as the core.
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
    azurite: npmTool("azurite", "3.37.0"),
  },
  { zizmor: pipProgram("zizmor", "1.32.0") },
  { terraform: { find: () => onPath("terraform"), ensure: () => Promise.reject(new Error("put it on PATH: the tests require it")) } },
];

export const CLIENTS = Object.assign({}, ...GROUPS);

/** Renovate, for `npm run ecosystem`. It is several times as large as all of the project's packages. */
export const RENOVATE = npmTool("renovate", "44.121.2");

/** Returns the path of a program, or of a file in a package; `undefined` if it is absent. A program on PATH counts first. */
export const find = (name) => (name in CLIENTS && !(name in BUILT) ? CLIENTS[name].find() : (onPath(name) ?? BUILT[name]?.find()));

/** Returns the reason why a program is absent, or `false`. */
export function whyAbsent(name) {
  if (find(name)) return false;
  return name in CLIENTS ? `${name} is neither on PATH nor in the cache: npm run clients provides it` : `${name} is not on PATH`;
}

/** Returns the directories in the cache to put on PATH. */
export function cachedDirectories() {
  const built = Object.entries(BUILT).filter(([name]) => !isOnPath(name));
  return built.map(([, client]) => client.find()).filter(Boolean).map(dirname);
}

/** Installs the absent ones. Returns the errors of those that cannot be installed, by name. */
export async function provideClients() {
  const errors = {};
  const provide = async (group) => {
    for (const [name, client] of Object.entries(group)) if (!find(name)) await client.ensure().catch((error) => (errors[name] = error));
  };
  await Promise.all(GROUPS.map(provide));
  await rm(GO_CACHES, { recursive: true, force: true });
  return errors;
}
