// KV and R2 in memory, for benchmarks. It speaks the protocol between workerd and the services behind its bindings. It
// runs in a process of its own, so that the Worker's process uses CPU only for the Worker, and counts its requests.
//
// KV and R2 have what the benchmark puts there. Protocol reads use R2 only for keys that KV does not have, and find nothing.
import { createServer } from "node:http";

import { isMain } from "../lib/paths.mjs";

/** The path at which the benchmark writes entries and reads the counts. No key begins with a dot. */
export const CONTROL = "/.control";

/** R2's error for a missing object, in the form that workerd expects. */
const NO_SUCH_KEY = JSON.stringify({ version: 1, v4code: 10007, message: "The specified key does not exist." });
const EMPTY_LIST = JSON.stringify({ objects: [], truncated: false, delimitedPrefixes: [] });

const entries = new Map();
const objects = new Map();
let counts = { kv: 0, r2: 0 };

async function control(request, response) {
  if (request.method === "PUT") {
    for (const { key, text, metadata, base64 } of JSON.parse(await bodyOf(request))) {
      if (base64) objects.set(key, Buffer.from(base64, "base64"));
      else put(key, text, JSON.stringify(metadata));
    }
  }
  const answer = JSON.stringify(counts);
  counts = { kv: 0, r2: 0 };
  response.end(answer);
}

function put(key, body, metadata) {
  const bytes = Buffer.from(body);
  const headers = { "cf-kv-metadata": metadata, "content-length": bytes.length };
  entries.set(encodeURIComponent(key), { bytes, headers });
}

async function kv(request, response) {
  counts.kv += 1;
  const key = request.url.slice(1, request.url.indexOf("?"));
  if (request.method === "PUT") {
    put(decodeURIComponent(key), await bodyOf(request), request.headers["cf-kv-metadata"]);
    return response.end();
  }
  const entry = entries.get(key);
  if (!entry) return response.writeHead(404, { "content-length": 0 }).end();
  return response.writeHead(200, entry.headers).end(entry.bytes);
}

/** Several keys in one operation. */
async function bulk(request, response) {
  counts.kv += 1;
  const { keys } = JSON.parse(await bodyOf(request));
  const found = keys.map((key) => {
    const entry = entries.get(encodeURIComponent(key));
    return [key, entry ? { value: entry.bytes.toString(), metadata: JSON.parse(entry.headers["cf-kv-metadata"]) } : null];
  });
  response.end(JSON.stringify(Object.fromEntries(found)));
}

function r2(request, response) {
  counts.r2 += 1;
  const { method, object: key, range } = JSON.parse(request.headers["cf-r2-request"]);
  const object = objects.get(key);
  if (method === "get" && object) return send(response, key, object, range);
  if (method === "list") {
    return response.writeHead(200, { "cf-r2-metadata-size": EMPTY_LIST.length, "content-length": EMPTY_LIST.length }).end(EMPTY_LIST);
  }
  return response.writeHead(404, { "cf-r2-error": NO_SUCH_KEY, "content-length": 0 }).end();
}

/** Sends a part of an object after its description. */
function send(response, key, object, range) {
  const offset = Number(range?.offset ?? 0);
  const part = object.subarray(offset, offset + Number(range?.length ?? object.length));
  const described = { name: key, version: "1", etag: "1", uploaded: 0, size: object.length, checksums: {}, customFields: [], httpFields: {} };
  const text = Buffer.from(JSON.stringify({ ...described, ...(range && { range: { offset, length: part.length } }) }));
  response.writeHead(200, { "cf-r2-metadata-size": text.length, "content-length": text.length + part.length });
  return response.end(Buffer.concat([text, part]));
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function answer(request, response) {
  if (request.url === CONTROL) return control(request, response);
  if (request.method === "POST" && request.url.startsWith("/bulk/get")) return bulk(request, response);
  return "cf-r2-request" in request.headers ? r2(request, response) : kv(request, response);
}

if (isMain(import.meta.url)) {
  const server = createServer(answer);
  server.keepAliveTimeout = 0;
  server.listen(Number(process.argv[2]), "127.0.0.1");
}
