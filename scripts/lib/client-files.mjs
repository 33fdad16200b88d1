// The files that point terraform, tofu and a shell at the local registry.
import { delimiter } from "node:path";

/** The host that the examples name in their addresses, whatever port the registry listens on. */
const EXAMPLE_HOST = "127.0.0.1:8787";

/**
 * A CLI configuration for terraform and tofu. Both insist on TLS for discovery; a `host` block takes its place, and also
 * leads the examples' host to another port.
 */
export function terraformConfig({ url, services }) {
  const { host, protocol } = new URL(url);
  const hosts = [...new Set([EXAMPLE_HOST, host])].filter((name) => protocol === "http:" || name !== host);
  const header = "# Written by `npm start`.\n";
  if (hosts.length === 0) return `${header}# Nothing to say: the registry has TLS, and is found by discovery.\n`;
  return header + hosts.map((name) => hostBlock(name, url, services)).join("");
}

function hostBlock(name, url, services) {
  const lines = Object.entries(services).map(
    ([service, path]) => `    ${JSON.stringify(service)} = ${JSON.stringify(new URL(path, url).href)}\n`,
  );
  return `\nhost ${JSON.stringify(name)} {\n  services = {\n${lines.join("")}  }\n}\n`;
}

/** A file to read into a POSIX shell with `. file`: exports `variables` and puts `directory` first on PATH. */
export function shellExports(variables, directory) {
  const exports = Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}\n`);
  const path = quoted(directory + delimiter);
  return `# Written by \`npm start\`. Use it with: . .terrace/env\n${exports.join("")}export PATH=${path}"$PATH"\n`;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
