// Clients of the Model Context Protocol: each lists the tools, calls some, and reads a resource.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { cli } from "../../../scripts/build.mjs";
import { find, unlessOnPath } from "./programs.mjs";

/** The names of the tools, in the order of the list. */
export const TOOLS = [
  "search",
  "get_module",
  "get_provider",
  "get_docs",
  "find_type",
  "list_versions",
  "compare_versions",
  "check_versions",
  "list_callers",
  "how_to_authenticate",
];

/** The newest revision, and the older one that begins with `initialize`. */
export const NEWEST = "2026-07-28";
export const OLDER = "2025-11-25";

const packageName = (name) => `@modelcontextprotocol/${name}`;

/** The `skip` option of a test that needs a client from npm. */
export const unlessInstalled = (name) => unlessOnPath(packageName(name));

const fileOf = (name, ...segments) => join(find(packageName(name)), ...segments);

/** Sends a message of the newest revision, without a library, and returns its result. */
export async function asks({ url, token }, method, params = {}) {
  const meta = { "io.modelcontextprotocol/protocolVersion": NEWEST, "io.modelcontextprotocol/clientCapabilities": {} };
  const name = params.name ?? params.uri;
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": NEWEST,
    "mcp-method": method,
    ...(name && { "mcp-name": name }),
    ...(token && { authorization: `Bearer ${token}` }),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } });
  const message = await (await fetch(url, { method: "POST", headers, body })).json();
  if (message.error) throw new Error(`${method}: ${message.error.code} ${message.error.message}`);
  return message.result;
}

/** Calls a tool, and returns its structured contents. */
export async function uses(target, name, args) {
  const result = await asks(target, "tools/call", { name, arguments: args });
  if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
  return result.structuredContent;
}

/** The programs and URLs that a client connects to: over HTTP, and over stdio through `terrace mcp`. */
export const transportsOf = (registry) => ({
  http: { url: `${registry.url}/mcp`, token: registry.secrets.adminToken },
  stdio: {
    command: cli,
    args: ["mcp"],
    env: { ...process.env, ...registry.env, TERRACE_URL: registry.url, TERRACE_TOKEN: registry.secrets.adminToken },
  },
});

/** Loads the TypeScript SDK for revisions up to 2025-11-25. */
async function loadSdk() {
  const files = ["index.js", "streamableHttp.js", "stdio.js"].map((file) => fileOf("sdk", "dist", "esm", "client", file));
  return Object.assign({}, ...(await Promise.all(files.map((file) => import(pathToFileURL(file))))));
}

/** Loads the TypeScript SDK for the newest revision. */
async function loadClient() {
  const files = ["index.mjs", "stdio.mjs"].map((file) => fileOf("client", "dist", file));
  return Object.assign({}, ...(await Promise.all(files.map((file) => import(pathToFileURL(file))))));
}

/** Uses the TypeScript SDK for revisions up to 2025-11-25, which it asks for. Over HTTP the transport knows what was agreed on. */
export async function withSdk(target, calls) {
  const { Client, StreamableHTTPClientTransport, StdioClientTransport } = await loadSdk();
  const client = new Client({ name: "test", version: "1" });
  const transport = transportOf(target, { StreamableHTTPClientTransport, StdioClientTransport });
  await client.connect(transport);
  return report(client, transport.protocolVersion, calls);
}

/** Uses the TypeScript SDK for the newest revision: `mode` is how it negotiates. */
export async function withClient(mode, target, calls) {
  const { Client, StreamableHTTPClientTransport, StdioClientTransport } = await loadClient();
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(transportOf(target, { StreamableHTTPClientTransport, StdioClientTransport }));
  return report(client, client.getNegotiatedProtocolVersion?.(), calls);
}

/**
 * Signs a person in by an SDK, and lists the tools. `name` is that of the package, `id` the URL of the client's document, and
 * `agrees` returns the parameters of the redirect for the URL that the client opens.
 */
export async function signingIn(name, { url, id, redirect }, agrees) {
  const { Client, StreamableHTTPClientTransport } = await (name === "sdk" ? loadSdk() : loadClient());
  const kept = {};
  let opened;
  const authProvider = {
    redirectUrl: redirect,
    clientMetadataUrl: id,
    clientMetadata: { client_name: "Test Assistant", redirect_uris: [redirect], token_endpoint_auth_method: "none" },
    state: () => "a state of the test",
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    discoveryState: () => kept.discovery,
    saveDiscoveryState: (state) => void (kept.discovery = state),
    redirectToAuthorization: (authorization) => void (opened = authorization),
  };
  const connected = async (first) => {
    const client = new Client({ name: "test", version: "1" });
    const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
    const failure = await client.connect(transport).then(() => undefined, (error) => error);
    if (!first && failure) throw failure;
    return { client, transport, failure };
  };
  const { transport, failure } = await connected(true);
  if (!opened) throw new Error(`the client does not ask for a sign-in: ${failure}`);
  const parameters = await agrees(opened);
  if (parameters.get("state") !== "a state of the test") throw new Error(`the state is ${parameters.get("state")}`);
  if (parameters.get("error")) throw new Error(parameters.get("error"));
  await transport.finishAuth(parameters.get("code"), parameters.get("iss"));
  const { client } = await connected(false);
  try {
    const { tools } = await client.listTools();
    return { tools: tools.map((tool) => tool.name), tokens: kept.tokens };
  } finally {
    await client.close();
  }
}

function transportOf({ url, token, ...program }, { StreamableHTTPClientTransport, StdioClientTransport }) {
  if (!url) return new StdioClientTransport({ ...program, stderr: "inherit" });
  const requestInit = token && { headers: { authorization: `Bearer ${token}` } };
  return new StreamableHTTPClientTransport(new URL(url), { requestInit });
}

async function report(client, revision, calls) {
  try {
    const { tools } = await client.listTools();
    const answers = [];
    for (const call of calls) {
      const answer = await client.callTool(call);
      if (answer.isError) throw new Error(`${call.name}: ${answer.content[0].text}`);
      answers.push(answer.structuredContent);
    }
    const { resources } = await client.listResources();
    const { contents } = await client.readResource({ uri: resources[0].uri });
    return { revision, tools: tools.map(({ name }) => name), answers, resources: resources.map(({ uri }) => uri), document: contents[0].text };
  } finally {
    await client.close();
  }
}
