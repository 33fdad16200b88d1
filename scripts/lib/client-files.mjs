// The files that configure terraform, tofu and a shell for the local registry.
import { writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";

/** The host in the addresses of the examples, whatever port the registry listens on. */
const EXAMPLE_HOST = "127.0.0.1:8787";

/**
 * Writes both into `stateDir`: `terraformrc`, for a registry that needs the `token` to read, and `env`, which also puts `directory`
 * on PATH.
 */
export async function writeClientFiles(stateDir, server, { token = null, directory } = {}) {
  const terraformrc = join(stateDir, "terraformrc");
  await writeFile(terraformrc, terraformConfig(server, { token }), { mode: 0o600 });
  await writeFile(join(stateDir, "env"), shellExports({ ...server.env, TF_CLI_CONFIG_FILE: terraformrc }, directory), { mode: 0o600 });
}

/**
 * Returns a CLI configuration for terraform and tofu. Both require TLS for discovery; a `host` block replaces
 * discovery, and also maps the examples' host to another port. A registry that is private needs the `token`.
 */
export function terraformConfig({ url, services }, { token = null } = {}) {
  const { host, protocol } = new URL(url);
  const names = [...new Set([EXAMPLE_HOST, host])];
  const hosts = names.filter((name) => protocol === "http:" || name !== host);
  const blocks = [
    ...hosts.map((name) => hostBlock(name, url, services)),
    ...(token === null ? [] : names.map((name) => credentialsBlock(name, token))),
  ];
  const header = "# Written by `npm start`.\n";
  if (blocks.length === 0) return `${header}# No settings are needed: the registry has TLS, and clients find it by discovery.\n`;
  return header + blocks.join("");
}

function hostBlock(name, url, services) {
  const lines = Object.entries(services).map(([service, value]) => `    ${JSON.stringify(service)} = ${serviceValue(value, url)}\n`);
  return `\nhost ${JSON.stringify(name)} {\n  services = {\n${lines.join("")}  }\n}\n`;
}

/** Returns the URL of a service. `login.v1` is an object with two URLs. */
function serviceValue(value, url) {
  const absolute = (path) => new URL(path, url).href;
  if (typeof value === "string") return JSON.stringify(absolute(value));
  const members = Object.entries({ ...value, authz: absolute(value.authz), token: absolute(value.token) });
  return `{ ${members.map(([name, member]) => `${JSON.stringify(name)} = ${JSON.stringify(member)}`).join(", ")} }`;
}

const credentialsBlock = (name, token) => `\ncredentials ${JSON.stringify(name)} {\n  token = ${JSON.stringify(token)}\n}\n`;

/** Returns a file for `. file` in a POSIX shell: it exports `variables`, and puts `directory`, if given, first on PATH. */
function shellExports(variables, directory) {
  const exports = Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}\n`);
  const path = directory ? `export PATH=${quoted(directory + delimiter)}"$PATH"\n` : "";
  return `# Written by \`npm start\`. Use it with: . .terrace/env\n${exports.join("")}${path}`;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
