// Clients of the Model Context Protocol, for tests. With their dependencies they are larger than all of the project's
// packages, so none of them is one. The client in Go is built with the clients of OCI.
import { existsSync } from "node:fs";

import { NpmTool } from "./npm-tools.mjs";
import { lastLine } from "./run.mjs";
import { say } from "./step.mjs";

/** The official TypeScript SDK: two packages for revisions up to 2025-11-25, and for later ones. */
export const MCP_CLIENTS = {
  sdk: new NpmTool("@modelcontextprotocol/sdk", "1.32.2"),
  client: new NpmTool("@modelcontextprotocol/client", "2.4.0"),
  inspector: new NpmTool("@modelcontextprotocol/inspector", "2.12.0"),
};

/** Returns whether a client is installed. */
export const hasMcpClient = (name) => existsSync(MCP_CLIENTS[name].file());

/** Installs the missing ones. Returns the reason for each that cannot be installed, by the name of its package. */
export async function ensureMcpClients() {
  const reasons = {};
  for (const tool of Object.values(MCP_CLIENTS)) {
    try {
      await tool.ensure();
    } catch (error) {
      reasons[tool.name] = `${tool.name} ${tool.version} is not in the cache, and could not be installed: ${lastLine(error)}`;
      say(`- ${reasons[tool.name]}`);
    }
  }
  return reasons;
}
