// The files that configure terraform, tofu and a shell for the local registry.
import { delimiter } from "node:path";

/** The host in the addresses of the examples, whatever port the registry listens on. */
const EXAMPLE_HOST = "127.0.0.1:8787";

/**
 * Returns a CLI configuration for terraform and tofu. Both require TLS for discovery; a `host` block replaces
 * discovery, and also maps the examples' host to another port.
 */
export function terraformConfig({ url, services }) {
  const { host, protocol } = new URL(url);
  const hosts = [...new Set([EXAMPLE_HOST, host])].filter((name) => protocol === "http:" || name !== host);
  const header = "# Written by `npm start`.\n";
  if (hosts.length === 0) return `${header}# No settings are needed: the registry has TLS, and clients find it by discovery.\n`;
  return header + hosts.map((name) => hostBlock(name, url, services)).join("");
}

function hostBlock(name, url, services) {
  const lines = Object.entries(services).map(
    ([service, path]) => `    ${JSON.stringify(service)} = ${JSON.stringify(new URL(path, url).href)}\n`,
  );
  return `\nhost ${JSON.stringify(name)} {\n  services = {\n${lines.join("")}  }\n}\n`;
}

/** Returns a file for `. file` in a POSIX shell: it exports `variables` and puts `directory` first on PATH. */
export function shellExports(variables, directory) {
  const exports = Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}\n`);
  const path = quoted(directory + delimiter);
  return `# Written by \`npm start\`. Use it with: . .terrace/env\n${exports.join("")}export PATH=${path}"$PATH"\n`;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
