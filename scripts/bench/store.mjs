// KV and R2 in memory, for benchmarks: `node store.mjs PORT FILE`. It speaks the protocol between workerd and the services behind its
// bindings. It runs in a process of its own, so that the Worker's process uses CPU only for the Worker.
//
// KV has the entries of the file. Reads use R2 only for keys that KV does not have, and find nothing.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const [port, file] = process.argv.slice(2);

/** R2's error for a missing object, in the form that workerd expects. */
const NO_SUCH_KEY = JSON.stringify({ version: 1, v4code: 10007, message: "The specified key does not exist." });
const EMPTY_LIST = JSON.stringify({ objects: [], truncated: false, delimitedPrefixes: [] });

const entries = new Map();
for (const { key, text, metadata } of JSON.parse(readFileSync(file, "utf8"))) {
  const bytes = Buffer.from(text);
  entries.set(encodeURIComponent(key), { bytes, headers: { "cf-kv-metadata": JSON.stringify(metadata), "content-length": bytes.length } });
}

function kv(request, response) {
  const entry = entries.get(request.url.slice(1, request.url.indexOf("?")));
  if (!entry) return response.writeHead(404, { "content-length": 0 }).end();
  return response.writeHead(200, entry.headers).end(entry.bytes);
}

function r2(request, response) {
  if (JSON.parse(request.headers["cf-r2-request"]).method === "list") {
    return response.writeHead(200, { "cf-r2-metadata-size": EMPTY_LIST.length, "content-length": EMPTY_LIST.length }).end(EMPTY_LIST);
  }
  return response.writeHead(404, { "cf-r2-error": NO_SUCH_KEY, "content-length": 0 }).end();
}

const server = createServer((request, response) => ("cf-r2-request" in request.headers ? r2 : kv)(request, response));
server.keepAliveTimeout = 0;
server.listen(Number(port), "127.0.0.1");
