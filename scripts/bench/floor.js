// The floor of the platform: the Worker's answers, made by the least JavaScript that can make them. Each
// route does the same reads with the same cache times, uses the same metadata, signs the same URLs by
// WebCrypto, sets the same headers and logs the same line, and does nothing else. It validates no name and no
// stored document, supports only GET, and caches everything that may be cached: imported keys, and the
// signing key of the day. `measure.mjs` verifies that its answers equal the Worker's, byte for byte.

const encoder = new TextEncoder();
const LIST = 30;
const VERSION = 300;

/* Answers */

function reply(status, cache, headers, body = null) {
  return new Response(body, { status, headers: { "cache-control": cache, "x-content-type-options": "nosniff", ...headers } });
}

const json = (status, cache, body) => reply(status, cache, { "content-type": "application/json" }, body);

/* Reads */

async function getIndex(asked, key, type, cacheTtl) {
  asked.kv += 1;
  const began = Date.now();
  const found = await asked.env.INDICES.getWithMetadata(key, { type, cacheTtl });
  asked.kvMs += Date.now() - began;
  asked.index = found.value === null ? "miss" : "hit";
  return found;
}

/** The times at which R2 had no list under a key. The Worker remembers them, too. */
const absences = new Map();
const ABSENCE_MS = 30_000;

async function list(asked, key, releases, told) {
  const { value, metadata } = await getIndex(asked, key, "stream", LIST);
  if (value !== null) return stored(asked, value, metadata.etag, { "content-type": "application/json" });
  // Before a 404, R2 is asked for documents that KV lacks.
  if (!(Date.now() - absences.get(key) < ABSENCE_MS)) {
    asked.r2 += 1;
    const began = Date.now();
    await asked.env.FACTS.list({ prefix: releases, include: ["customMetadata"] });
    asked.r2Ms += Date.now() - began;
    absences.set(key, Date.now());
  }
  return json(404, "no-store", JSON.stringify({ errors: [told] }));
}

function stored(asked, value, etag, headers) {
  if (asked.request.headers.get("if-none-match") === etag) return reply(304, "no-cache", { etag });
  return reply(200, "no-cache", { ...headers, etag }, value);
}

/** The headers of stored bytes, which share the hostname with the web pages. */
const FENCE = {
  "content-security-policy": "sandbox; default-src 'none'",
  "content-disposition": "attachment",
  "cross-origin-resource-policy": "same-origin",
};

async function manifest(asked, key) {
  const { value, metadata } = await getIndex(asked, key, "stream", VERSION);
  const { etag, content } = metadata;
  return stored(asked, value, etag, { "content-type": content.media_type, "content-length": content.size, "docker-content-digest": content.digest, ...FENCE });
}

async function download(asked, key, os, arch) {
  const { value } = await getIndex(asked, key, "text", VERSION);
  const { protocols, shasums, signature, signing_key, packages } = JSON.parse(value);
  const found = packages.find(({ platform }) => platform === `${os}_${arch}`);
  const [download_url, shasums_url, shasums_signature_url] = await signed(asked.env, [`${found.sha256}.zip`, `${shasums}.SHA256SUMS`, `${signature}.sig`]);
  const all = {};
  for (const { platform, sha256, h1, size } of packages) all[platform] = { hashes: [`zh:${sha256}`, h1], package_size: size };
  const { key_id, ascii_armor } = signing_key;
  const body = {
    protocols,
    os,
    arch,
    filename: found.filename,
    download_url,
    shasums_url,
    shasums_signature_url,
    shasum: found.sha256,
    signing_keys: { gpg_public_keys: [{ key_id, ascii_armor }] },
    packages: all,
  };
  return json(200, "no-store", JSON.stringify(body));
}

/* Routes */

async function route(asked, path) {
  const at = path.split("/");
  const address = `${at[3]}/${at[4]}`;
  if (path === "/.well-known/terraform.json") {
    asked.route = "discovery";
    return json(200, "public, max-age=300", '{"providers.v1":"/v1/providers/","modules.v1":"/v1/modules/"}');
  }
  if (at[1] === "v2") {
    asked.route = "oci_manifest";
    return manifest(asked, `providers/hosted/${address}/tag/${at[6]}`);
  }
  if (at[5] === "versions") {
    asked.route = "provider_versions";
    return list(asked, `providers/hosted/${address}/versions`, `releases/providers/hosted/${address}/`, `this registry has no provider ${address}`);
  }
  asked.route = "provider_download";
  return download(asked, `providers/hosted/${address}/version/${at[5]}`, at[7], at[8]);
}

/* Signatures */

const imported = (bytes) => crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
const hmac = async (key, text) => new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));

let day = null;

/** Returns the URLs of archives, signed at this moment. */
async function signed(env, names) {
  const stamp = new Date().toISOString();
  const date = stamp.slice(0, 10).replaceAll("-", "");
  if (day?.date !== date) day = await newDay(env, date);
  return Promise.all(names.map((name) => presigned(env, day, `${date}T${stamp.slice(11, 19).replaceAll(":", "")}Z`, name)));
}

/** Derives the signing key of a day, and the parts of its URLs that stay the same. */
async function newDay(env, date) {
  let key = encoder.encode(`AWS4${env.TERRACE_S3_SECRET_ACCESS_KEY}`);
  for (const part of [date, env.TERRACE_S3_REGION, "s3", "aws4_request"]) key = await hmac(await imported(key), part);
  const scope = `${date}/${env.TERRACE_S3_REGION}/s3/aws4_request`;
  const { protocol, host, pathname } = new URL(env.TERRACE_S3_ENDPOINT);
  return {
    date,
    scope,
    key: await imported(key),
    credential: encodeURIComponent(`${env.TERRACE_S3_ACCESS_KEY_ID}/${scope}`),
    origin: `${protocol}//${host}`,
    host,
    path: `${pathname === "/" ? "" : pathname}/${env.TERRACE_S3_BUCKET}/archives/`,
  };
}

async function presigned(env, { scope, key, credential, origin, host, path }, date, name) {
  const before = `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${credential}&X-Amz-Date=${date}&X-Amz-Expires=900`;
  const asked = `GET\n${path}${name}\n${before}&X-Amz-SignedHeaders=host\nhost:${host}\n\nhost\nUNSIGNED-PAYLOAD`;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(asked))).toHex();
  const signature = (await hmac(key, `AWS4-HMAC-SHA256\n${date}\n${scope}\n${digest}`)).toHex();
  return `${origin}${path}${name}?${before}&X-Amz-Signature=${signature}&X-Amz-SignedHeaders=host`;
}

/* The log */

function log(asked, method, status, began) {
  const [, client = "", client_version = ""] = /^([\w.+-]+)\/([\w.+-]+)/.exec(asked.request.headers.get("user-agent") ?? "") ?? [];
  const line = {
    route: asked.route,
    method,
    status,
    ms: Date.now() - began,
    index: asked.index,
    kv: asked.kv,
    kv_ms: asked.kvMs,
    r2: asked.r2,
    r2_ms: asked.r2Ms,
    origin: 0,
    origin_ms: 0,
    client,
    client_version,
  };
  console.log(JSON.stringify(line));
}

export default {
  async fetch(request, env) {
    const began = Date.now();
    const { url } = request;
    const slash = url.indexOf("/", "https://".length);
    const asked = { request, env, kv: 0, kvMs: 0, r2: 0, r2Ms: 0 };
    const response = await route(asked, url.slice(slash));
    log(asked, request.method, response.status, began);
    return response;
  },
};
