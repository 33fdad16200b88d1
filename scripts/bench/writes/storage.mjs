// KV, R2 and R2's S3 endpoint for benchmarks of writes, in a process of its own, so that the CPU time and the memory of
// the Worker's process are only the Worker's. It speaks the protocol between workerd and the services behind its
// bindings, keeps documents in memory and larger objects in files, and counts its requests.
//
// Unlike R2 it checks no signature. For an upload by S3 it keeps what R2 keeps: the checksum that was signed.
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { isMain } from "../../lib/paths.mjs";
import { SortedMap } from "./sorted-map.mjs";

/** The path for requests of the benchmark itself. No key begins with a dot. */
export const CONTROL = "/.control";

/** The path of the bucket's S3 endpoint. */
export const S3 = "/.s3";

/** The maximum size of an object in memory; larger ones are in files. */
const IN_MEMORY_BYTES = 1024 * 1024;

/** The keys in one page of a listing: the maximum of KV and R2. */
const PAGE = 1_000;

/**
 * The maximum number of concurrent operations of one request on the platform (platform limits, "simultaneous
 * open connections").
 */
const AT_ONCE = 6;

/** R2's errors, in the form that workerd expects. */
const NOT_FOUND = [404, 10007, "The specified key does not exist."];
const BAD_DIGEST = [400, 10037, "The SHA-256 checksum you specified did not match what we received."];
const PRECONDITION = [412, 10031, "At least one of the pre-conditions you specified did not hold."];

const indices = new SortedMap();
const objects = new SortedMap();

let counts;
/** The current settings: see `control`. */
const settings = { delay: 0, delays: {}, atOnce: AT_ONCE, keepsChecksums: true, pretends: false, bytesPerSecond: Infinity };
let directory;

const nothing = () => ({ operations: {}, times: [], received: 0, sent: 0, s3: { requests: 0, received: 0, sent: 0 }, slept: 0, busy: 0 });

/**
 * `PUT` changes settings: the milliseconds that each operation takes (`delay`), or some by their names (`delays`, with `R2` for all
 * of R2, and `R2 archives` for reads of archives), how many run at once (`atOnce`), whether uploads by S3 keep their checksum (`keepsChecksums`), whether archives that
 * were never stored appear to be present (`pretends`), how fast uploads by S3 arrive, all of them together (`bytesPerSecond`; null for no
 * limit). It can also delete all indices (`forgets: "indices"`), or everything. The answer is the
 * counts since the last call.
 */
async function control(request, response) {
  if (request.method === "PUT") {
    const { forgets, ...wanted } = JSON.parse(await bodyOf(request));
    if (forgets) indices.clear();
    if (forgets === "everything") await forgetObjects();
    Object.assign(settings, wanted);
    settings.bytesPerSecond ??= Infinity;
  }
  const answer = JSON.stringify({ ...counts, keys: { kv: indices.size, r2: objects.size } });
  counts = nothing();
  response.end(answer);
}

async function forgetObjects() {
  objects.clear();
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory);
}

function count(name) {
  counts.operations[name] = (counts.operations[name] ?? 0) + 1;
}

/** Sends the answer, and counts its bytes. */
function send(response, status, headers, ...parts) {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  counts.sent += length;
  response.writeHead(status, { ...headers, "content-length": length });
  for (const part of parts) response.write(part);
  response.end();
}

async function kv(request, response) {
  const url = new URL(request.url, "http://kv");
  const key = decodeURIComponent(url.pathname.slice(1));
  if (request.method === "POST") return kvBulk(request, response);
  if (request.method === "GET" && key === "") return kvList(url.searchParams, response);
  count(`KV ${request.method.toLowerCase()}`);
  if (request.method === "PUT") {
    indices.set(key, { bytes: await bodyOf(request), metadata: request.headers["cf-kv-metadata"] });
    return send(response, 200, {});
  }
  if (request.method === "DELETE") {
    indices.delete(key);
    return send(response, 200, {});
  }
  const entry = indices.get(key);
  if (!entry) return send(response, 404, {});
  return send(response, 200, { "cf-kv-metadata": entry.metadata }, entry.bytes);
}

async function kvBulk(request, response) {
  count("KV get (many)");
  const { keys } = JSON.parse(await bodyOf(request));
  const found = keys.map((key) => {
    const entry = indices.get(key);
    return [key, entry ? { value: entry.bytes.toString(), metadata: JSON.parse(entry.metadata) } : null];
  });
  send(response, 200, {}, Buffer.from(JSON.stringify(Object.fromEntries(found))));
}

function kvList(query, response) {
  count("KV list");
  const names = indices.keysAfter(query.get("prefix") ?? "", query.get("cursor") ?? "", PAGE + 1);
  const keys = names.slice(0, PAGE).map((name) => ({ name, metadata: indices.get(name).metadata }));
  const isCut = names.length > PAGE;
  const page = { keys, list_complete: !isCut, ...(isCut && { cursor: names[PAGE - 1] }), cacheStatus: null };
  send(response, 200, {}, Buffer.from(JSON.stringify(page)));
}

async function r2(request, response) {
  const inBody = Number(request.headers["cf-r2-metadata-size"]);
  const body = inBody ? await Prefixed.of(request, inBody) : null;
  const asked = JSON.parse(body ? body.prefix : request.headers["cf-r2-request"]);
  count(`R2 ${asked.method}`);
  const answers = { head, get, put, list, delete: remove };
  return answers[asked.method](asked, response, body);
}

/** A body that begins with a document describing the rest. */
class Prefixed {
  static async of(request, length) {
    const prefixed = new Prefixed();
    const chunks = request[Symbol.asyncIterator]();
    let read = Buffer.alloc(0);
    while (read.length < length) read = Buffer.concat([read, (await chunks.next()).value]);
    counts.received += read.length;
    prefixed.prefix = read.subarray(0, length).toString();
    prefixed.rest = async function* () {
      yield read.subarray(length);
      for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
        counts.received += next.value.length;
        yield next.value;
      }
    };
    return prefixed;
  }
}

function refuse(response, [status, v4code, message]) {
  send(response, status, { "cf-r2-error": JSON.stringify({ version: 1, v4code, message }) });
}

const found = (key) => objects.get(key) ?? (settings.pretends ? pretended(key) : undefined);

/** An archive that appears to be present, with the digest in its key, although its bytes do not exist. */
function pretended(key) {
  const sha256 = /^archives\/([0-9a-f]{64})\./.exec(key)?.[1];
  return sha256 && { key, version: sha256.slice(0, 32), etag: sha256.slice(0, 32), uploaded: 0, size: PRETENDED_BYTES, checksums: { 2: sha256 } };
}

/** The length of each pretended archive in bytes. */
export const PRETENDED_BYTES = 1_000;

const described = ({ key, version, etag, uploaded, size, checksums, custom = [], http = {} }) => ({
  ...{ name: key, version, etag, uploaded, size, checksums },
  ...{ customFields: custom, httpFields: http },
});

function tell(response, document, ...bodies) {
  const text = Buffer.from(JSON.stringify(document));
  send(response, 200, { "cf-r2-metadata-size": text.length }, text, ...bodies);
}

function head({ object: key }, response) {
  const object = found(key);
  return object ? tell(response, described(object)) : refuse(response, NOT_FOUND);
}

function get({ object: key, range }, response) {
  const object = objects.get(key);
  if (!object) return refuse(response, NOT_FOUND);
  const offset = range?.suffix ? Math.max(object.size - Number(range.suffix), 0) : Number(range?.offset ?? 0);
  const length = Math.min(Number(range?.length ?? object.size), object.size - offset);
  const document = { ...described(object), ...(range && { range: { offset, length } }) };
  if (object.bytes) return tell(response, document, object.bytes.subarray(offset, offset + length));
  const text = Buffer.from(JSON.stringify(document));
  response.writeHead(200, { "cf-r2-metadata-size": text.length, "content-length": text.length + length });
  response.write(text);
  counts.sent += text.length + length;
  return sendFile(object, offset, length, response);
}

const sendFile = ({ file }, offset, length, response) =>
  pipeline(createReadStream(file, { start: offset, end: offset + length - 1, highWaterMark: IN_MEMORY_BYTES }), response);

async function put({ object: key, onlyIf, sha256, customFields, httpFields }, response, body) {
  const stored = await keep(key, body.rest());
  // The body is read first: workerd ignores an answer that is sent before its body has arrived.
  if (onlyIf && !holds(onlyIf, objects.get(key))) return refuse(response, PRECONDITION);
  if (sha256 && sha256 !== stored.sha256) return refuse(response, BAD_DIGEST);
  // R2 has an MD5 of every object, and another checksum only if the upload requested one.
  const checksums = { 0: stored.md5, ...(sha256 && { 2: sha256 }) };
  return tell(response, described(place(key, { ...stored, checksums, custom: customFields, http: httpFields })));
}

function holds({ etagMatches, etagDoesNotMatch }, object) {
  const isAmong = (etags) => etags.some(({ type, value }) => type === "wildcard" || value === object.etag);
  if (etagMatches && !(object && isAmong(etagMatches))) return false;
  return !(etagDoesNotMatch && object && isAmong(etagDoesNotMatch));
}

function place(key, { size, bytes, file, md5, checksums, custom, http }) {
  const object = { key, version: randomUUID().replaceAll("-", ""), etag: md5, uploaded: Date.now(), size, bytes, file, checksums, custom, http };
  objects.set(key, object);
  return object;
}

/** Reads bytes to their end, into memory while they are few. */
async function keep(key, chunks) {
  const hashes = { sha256: createHash("sha256"), md5: createHash("md5") };
  const held = [];
  let [size, output, file] = [0, null, null];
  for await (const chunk of chunks) {
    size += chunk.length;
    // An MD5 of a large object would only use CPU time that other processes on this machine need.
    if (size <= IN_MEMORY_BYTES) hashes.md5.update(chunk);
    hashes.sha256.update(chunk);
    if (output === null && size > IN_MEMORY_BYTES) {
      file = join(directory, randomUUID());
      output = createWriteStream(file);
      for (const earlier of held.splice(0)) output.write(earlier);
    }
    if (output === null) held.push(chunk);
    else if (!output.write(chunk)) await new Promise((done) => output.once("drain", done));
  }
  if (output) await new Promise((done) => output.end(done));
  const [sha256, md5] = [hashes.sha256.digest("hex"), hashes.md5.digest("hex")];
  return { size, sha256, md5, file, bytes: output ? undefined : Buffer.concat(held) };
}

function list({ prefix = "", cursor, startAfter, limit = PAGE, include = [] }, response) {
  const names = objects.keysAfter(prefix, cursor ?? startAfter ?? "", limit + 1);
  const truncated = names.length > limit;
  const shown = names.slice(0, limit).map((name) => described(objects.get(name)));
  // The value 1 means custom metadata.
  const listed = shown.map(({ customFields, ...rest }) => ({ ...rest, customFields: include.includes(1) ? customFields : [] }));
  tell(response, { objects: listed, truncated, ...(truncated && { cursor: names[limit - 1] }), delimitedPrefixes: [] });
}

async function remove({ object: key, objects: keys = [key] }, response) {
  for (const removed of keys) {
    const file = objects.get(removed)?.file;
    if (file) await rm(file, { force: true });
    objects.delete(removed);
  }
  tell(response, {});
}

/** A client that follows a presigned URL. The Worker is not involved. */
async function s3(request, response) {
  const key = decodeURIComponent(new URL(request.url, "http://s3").pathname).split("/").slice(3).join("/");
  counts.s3.requests += 1;
  if (request.method === "PUT") {
    const stored = await keep(key, arriving(request));
    counts.s3.received += stored.size;
    const promised = request.headers["x-amz-checksum-sha256"];
    if (promised && promised !== Buffer.from(stored.sha256, "hex").toString("base64")) return response.writeHead(400).end();
    place(key, { ...stored, checksums: { 0: stored.md5, ...(promised && settings.keepsChecksums && { 2: stored.sha256 }) } });
    return response.end();
  }
  const object = objects.get(key);
  if (!object) return response.writeHead(404).end();
  counts.s3.sent += object.size;
  response.writeHead(200, { "content-length": object.size });
  return object.file ? sendFile(object, 0, object.size, response) : response.end(object.bytes);
}

/** The time at which the simulated network has transferred everything that has arrived. */
let transferred = 0;

/** Returns the chunks of an upload as a network with the set bandwidth transfers them. */
async function* arriving(request) {
  for await (const chunk of request) {
    const now = performance.now();
    transferred = Math.max(transferred, now) + (chunk.length / settings.bytesPerSecond) * 1_000;
    // A timer takes a millisecond at least.
    if (transferred - now > 1) await sleep(transferred - now);
    yield chunk;
  }
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (request.url !== CONTROL) counts.received += body.length;
  return body;
}

/** The running operations, and those that wait for one to end. */
let under = 0;
let busySince;
const waiting = [];

/**
 * Delays an operation. `times` are the begins and ends of all delayed operations, `slept` is the total of all delays, and `busy` the time during which at
 * least one operation ran; from it follows the number of sequential operations.
 */
async function slowly(name, work) {
  const delay = settings.delays[name] ?? settings.delay;
  if (delay === 0) return work();
  if (under >= settings.atOnce) await new Promise((done) => waiting.push(done));
  const began = performance.now();
  if (under === 0) busySince = began;
  under += 1;
  await sleep(delay);
  under -= 1;
  waiting.shift()?.();
  const now = performance.now();
  counts.times.push([began, now]);
  counts.slept += now - began;
  if (under === 0) counts.busy += now - busySince;
  return work();
}

async function answer(request, response) {
  if (request.url === CONTROL) return control(request, response);
  if (request.url.startsWith(`${S3}/`)) return s3(request, response);
  const { headers } = request;
  const isR2 = "cf-r2-request" in headers || "cf-r2-metadata-size" in headers;
  return slowly(isR2 ? r2Operation(request) : kvOperation(request), () => (isR2 ? r2(request, response) : kv(request, response)));
}

/** Returns the name of an operation of R2 among the delays. */
function r2Operation({ headers }) {
  const { method, object = "" } = JSON.parse(headers["cf-r2-request"] ?? "{}");
  return method === "get" && object.startsWith("archives/") && "R2 archives" in settings.delays ? "R2 archives" : "R2";
}

/** Returns the name of an operation of KV. */
function kvOperation({ method, url }) {
  if (method === "POST") return "KV get (many)";
  return method === "GET" && url.startsWith("/?") ? "KV list" : `KV ${method.toLowerCase()}`;
}

if (isMain(import.meta.url)) {
  const [port, files] = process.argv.slice(2);
  directory = files;
  counts = nothing();
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      console.error(error);
      response.destroy();
    });
  });
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.listen(Number(port), "127.0.0.1");
}
