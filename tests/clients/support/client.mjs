// terraform and tofu, run as their users run them.
import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { OLD_TERRAFORM } from "../../../scripts/lib/clients.mjs";
import { find, run, unlessOnPath } from "./programs.mjs";
import { scratch } from "./scratch.mjs";
import { describe, test } from "./testing.mjs";

const CLIENTS = ["terraform", "tofu"];

/** The missing clients that this file's tests have reported. */
const missed = new Set();

/** The hostname in source addresses over plain HTTP. A `host` block maps it to a registry, so it is never resolved. */
export const HOST = "terrace.test";

/** Defines the same tests for each installed client, and a skipped test for each missing one. */
export function withEachClient(define) {
  for (const client of installedClients()) describe(client.name, () => define(client));
}

/** Returns the installed clients, for tests that take long whatever the client is, and defines a skipped test for each missing one. */
export function installedClients() {
  return CLIENTS.filter((name) => {
    const skip = unlessOnPath(name);
    if (skip && !missed.has(name)) test(`${name} does the same`, { skip }, () => {});
    missed.add(name);
    return !skip;
  }).map((name) => new Client(name));
}

/** Defines the same tests for Terraform 1.5.7, or a skipped test with the reason if it is missing. */
export function withOldTerraform(define) {
  const program = find(OLD_TERRAFORM);
  if (program) describe(OLD_TERRAFORM, () => define(new Client(OLD_TERRAFORM, program)));
  else test(`${OLD_TERRAFORM} does the same`, { skip: unlessOnPath(OLD_TERRAFORM) }, () => {});
}

/** A client: `program` is its path, or its name on PATH. */
export class Client {
  #program;

  constructor(name, program = name) {
    this.name = name;
    this.#program = program;
  }

  /**
   * Creates a directory with these files, in which the client finds `registry` as HOST.
   *
   * - `config`: the CLI configuration, instead of the default;
   * - `env`: more variables for the client.
   */
  async workspace(t, registry, files, { config = hostBlock(registry), env = {} } = {}) {
    const home = scratch(t);
    const directory = join(home, "work");
    const configFile = join(home, "cli-config");
    await mkdir(directory);
    await writeFile(configFile, config);
    const workspace = new Workspace(this.#program, directory, clientEnv(home, configFile, { ...certificates(registry), ...env }));
    for (const [name, text] of Object.entries(files)) await workspace.write(name, text);
    return workspace;
  }
}

/** The `skip` option of a test whose client trusts a CA of one's own: Go reads SSL_CERT_FILE on Linux; on other systems it uses the system's CAs. */
export const onlyLinux = process.platform === "linux" ? false : "SSL_CERT_FILE works on Linux only";

/** A CLI configuration that installs all providers from the network mirror of a registry. */
export const networkMirror = ({ url }) => `provider_installation {\n  network_mirror {\n    url = "${url}/mirror/"\n  }\n}\n`;

/** A CLI configuration that installs all providers from OCI repositories, of which OpenTofu replaces the parts in `${}`. */
export const ociMirror = ({ host }, path = "providers/${hostname}/${namespace}/${type}", include = "*/*/*") =>
  `provider_installation {\n  oci_mirror {\n    repository_template = "${host}/${path}"\n    include = ["${include}"]\n  }\n}\n`;

/** A CLI configuration that maps a hostname to a registry, without a sign-in. */
export function hostBlock({ url, services }, name = HOST) {
  const lines = Object.entries(services).filter(([, path]) => typeof path === "string").map(([service, path]) => `    "${service}" = "${new URL(path, url)}"\n`);
  return `host "${name}" {\n  services = {\n${lines.join("")}  }\n}\n`;
}

/** The CA of a registry over TLS, which its clients trust. */
const certificates = ({ env }) => (env?.SSL_CERT_FILE ? { SSL_CERT_FILE: env.SSL_CERT_FILE } : {});

/** Returns an environment without this user's own configuration, credentials and caches. */
function clientEnv(home, configFile, env) {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(TF|TOFU|OPENTOFU)_|^SSL_CERT_/.test(name));
  return { ...Object.fromEntries(inherited), HOME: home, CHECKPOINT_DISABLE: "1", TF_CLI_CONFIG_FILE: configFile, ...env };
}

/** Creates a home directory for clients of OCI registries; Docker's configuration there has the password, if there is one. */
export async function ociHome(t, registry, password) {
  const cwd = scratch(t);
  const DOCKER_CONFIG = join(cwd, "docker");
  await mkdir(DOCKER_CONFIG);
  const auth = Buffer.from(`anybody:${password}`).toString("base64");
  if (password) await writeFile(join(DOCKER_CONFIG, "config.json"), JSON.stringify({ auths: { [registry.host]: { auth } } }));
  const { XDG_RUNTIME_DIR, ...env } = process.env;
  return { cwd, env: { ...env, ...certificates(registry), HOME: cwd, DOCKER_CONFIG } };
}

class Workspace {
  constructor(program, directory, env) {
    this.program = program;
    this.directory = directory;
    this.env = env;
  }

  async write(name, text) {
    const file = join(this.directory, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }

  read(name) {
    return readFile(join(this.directory, name), "utf8");
  }

  remove(name) {
    return rm(join(this.directory, name), { recursive: true });
  }

  /** Runs the client, which must succeed, and returns its output. */
  async runs(...args) {
    const { code, said, stdout } = await this.#run(args);
    assert.equal(code, 0, `${this.program} ${args.join(" ")}: ${said}`);
    return { said, stdout: stdout.toString() };
  }

  /** Runs the client, which must fail, and returns its output. */
  async fails(...args) {
    const { code, said } = await this.#run(args);
    assert.notEqual(code, 0, `${this.program} ${args.join(" ")} succeeds: ${said}`);
    return said;
  }

  /** Returns the values of all outputs, after `apply`. */
  async outputs() {
    await this.runs("apply", "-auto-approve");
    const { stdout } = await this.runs("output", "-json");
    return Object.fromEntries(Object.entries(JSON.parse(stdout)).map(([name, { value }]) => [name, value]));
  }

  /** Returns the hashes in the lock file, by scheme. */
  async lockedHashes() {
    const text = await this.read(".terraform.lock.hcl");
    const hashes = (scheme) => [...text.matchAll(new RegExp(`"${scheme}:(.+)"`, "g"))].map(([, hash]) => hash);
    return { h1: hashes("h1"), zh: hashes("zh") };
  }

  async #run(args) {
    const { code, output, stdout } = await run(this.program, [...args, "-no-color"], { cwd: this.directory, env: this.env });
    return { code, stdout, said: unwrapped(output) };
  }
}

/** Removes the frame of messages, and the line breaks at 78 columns. */
const unwrapped = (text) => text.replace(/[│╷╵]/g, " ").replace(/\s+/g, " ");

/** Returns a configuration that uses one provider. */
export const usingProvider = (source, version) => `terraform {
  required_providers {
    wanted = {
      source  = "${source}"
      version = "${version}"
    }
  }
}
`;

/** Returns a configuration that uses one module, with the same output. A source by `oci://` has no version. */
export const usingModule = (source, version) => `module "wanted" {
  source  = "${source}"
  ${version ? `version = "${version}"` : ""}
}

output "says" {
  value = module.wanted.says
}
`;
