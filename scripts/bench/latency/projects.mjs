// The projects that clients initialise, and running the clients.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { run } from "../../../tests/clients/support/programs.mjs";
import { HERE, module, provider, saying } from "../../../tests/clients/support/releases.mjs";

const PROVIDERS = 30;
const MODULES = 20;
const VERSION = "1.0.0";

const numbers = (count) => Array.from({ length: count }, (_, at) => at + 1);

/** The releases of all projects, with this signing key. */
export function* releases(key) {
  for (const n of numbers(PROVIDERS)) yield provider({ address: `acme/p${n}`, version: VERSION, key, platforms: [HERE] });
  for (const n of numbers(MODULES)) yield module({ address: `acme/m${n}/aws`, version: VERSION, files: saying(`module ${n}`) });
}

const withProviders = (count) => (host) => {
  const wanted = numbers(count).map((n) => `    p${n} = { source = "${host}/acme/p${n}", version = "${VERSION}" }\n`);
  return `terraform {\n  required_providers {\n${wanted.join("")}  }\n}\n`;
};

const withModules = (count) => (host) =>
  numbers(count)
    .map((n) => `module "m${n}" {\n  source  = "${host}/acme/m${n}/aws"\n  version = "${VERSION}"\n}\n`)
    .join("");

/** The projects by name: functions from the host of a registry to their configuration. */
export const PROJECTS = {
  "1 provider": withProviders(1),
  [`${PROVIDERS} providers`]: withProviders(PROVIDERS),
  [`${MODULES} modules`]: withModules(MODULES),
};

/** A project of a client, in a directory of its own, without any cache. */
export class Project {
  #program;
  #directory;
  #env;

  static async create(program, directory, { text, caBundle }) {
    const project = new Project();
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, "main.tf"), text);
    const config = join(directory, "cli-config");
    await writeFile(config, "");
    const inherited = Object.entries(process.env).filter(([name]) => !/^(TF|TOFU|OPENTOFU)_|^SSL_CERT_/.test(name));
    const env = { HOME: directory, CHECKPOINT_DISABLE: "1", TF_CLI_CONFIG_FILE: config, SSL_CERT_FILE: caBundle };
    project.#program = program;
    project.#directory = directory;
    project.#env = { ...Object.fromEntries(inherited), ...env };
    return project;
  }

  /** Runs `init`, and returns the milliseconds that it takes. */
  async init() {
    const began = performance.now();
    const { code, output } = await run(this.#program, ["init", "-no-color", "-input=false"], { cwd: this.#directory, env: this.#env });
    const ms = performance.now() - began;
    if (code !== 0) throw new Error(`${this.#program} init fails: ${output}`);
    return ms;
  }
}
