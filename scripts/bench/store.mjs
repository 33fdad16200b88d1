// KV and R2 in memory, for benchmarks. It speaks the protocol between workerd and the services behind its bindings. It
// runs in a process of its own, so that the Worker's process uses CPU only for the Worker.
//
// KV has what the benchmark puts there. Reads use R2 only for keys that KV does not have, and find nothing.
import { createServer } from "node:http";

import { isMain } from "../lib/paths.mjs";

/** The path at which the benchmark writes entries. No key begins with a dot. */
export const CONTROL = "/.control";

/** R2's error for a missing object, in the form that workerd expects. */
const NO_SUCH_KEY = JSON.stringify({ version: 1, v4code: 10007, message: "The specified key does not exist." });
const EMPTY_LIST = JSON.stringify({ objects: [], truncated: false, delimitedPrefixes: [] });

const entries = new Map();

async function control(request, response) {
  for (const { key, text, metadata } of JSON.parse(await bodyOf(request))) put(key, text, JSON.stringify(metadata));
  response.end();
}

function put(key, body, metadata) {
  const bytes = Buffer.from(body);
  const headers = { "cf-kv-metadata": metadata, "content-length": bytes.length };
  entries.set(encodeURIComponent(key), { bytes, headers });
}

async function kv(request, response) {
  const key = request.url.slice(1, request.url.indexOf("?"));
  if (request.method === "PUT") {
    put(decodeURIComponent(key), await bodyOf(request), request.headers["cf-kv-metadata"]);
    return response.end();
  }
  const entry = entries.get(key);
  if (!entry) return response.writeHead(404, { "content-length": 0 }).end();
  return response.writeHead(200, entry.headers).end(entry.bytes);
}

function r2(request, response) {
  const { method } = JSON.parse(request.headers["cf-r2-request"]);
  if (method === "list") {
    return response.writeHead(200, { "cf-r2-metadata-size": EMPTY_LIST.length, "content-length": EMPTY_LIST.length }).end(EMPTY_LIST);
  }
  return response.writeHead(404, { "cf-r2-error": NO_SUCH_KEY, "content-length": 0 }).end();
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function answer(request, response) {
  if (request.url === CONTROL) return control(request, response);
  return "cf-r2-request" in request.headers ? r2(request, response) : kv(request, response);
}

if (isMain(import.meta.url)) {
  const server = createServer(answer);
  server.keepAliveTimeout = 0;
  server.listen(Number(process.argv[2]), "127.0.0.1");
}
