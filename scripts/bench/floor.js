// The floor of the platform: the Worker's answers, made by the least JavaScript that can make them. Each
// route does the same reads with the same cache times, uses the same metadata, signs the same URLs by
// WebCrypto, sets the same headers and logs the same line, and does nothing else. It validates no name and no
// stored document, supports only GET, and caches everything that may be cached: imported keys, and the
// signing key of the day. `check.mjs` verifies that its answers equal the Worker's, byte for byte.

const encoder = new TextEncoder();
const LIST = 30;
const VERSION = 300;
const REVOCATIONS_FRESH_MS = 10_000;
const REVOCATIONS_MS = 25_000;

/* Answers */

function reply(status, cache, headers, body = null) {
  return new Response(body, { status, headers: { "cache-control": cache, "x-content-type-options": "nosniff", ...headers } });
}

const json = (status, cache, body) => reply(status, cache, { "content-type": "application/json" }, body);

const missing = (told) => json(404, "no-store", JSON.stringify({ errors: [told] }));

const missingText = (told) => reply(404, "no-store", { "content-type": "text/plain; charset=utf-8" }, `${told}\n`);

const missingOci = (code, message) => json(404, "no-store", JSON.stringify({ errors: [{ code, message }] }));

const CLOSED = 'this request needs the header "Authorization: Bearer <token>" with a token of this registry';

/* Reads */

async function getIndex(asked, key, type, cacheTtl) {
  asked.kv += 1;
  const began = Date.now();
  const found = await asked.env.INDICES.getWithMetadata(key, { type, cacheTtl });
  asked.kvMs += Date.now() - began;
  asked.index = found.value === null ? "miss" : "hit";
  return found;
}

/** Before a 404, checks R2 for a document that KV lacks. */
async function lookInBucket(asked, look) {
  asked.r2 += 1;
  const began = Date.now();
  await look(asked.env.FACTS);
  asked.r2Ms += Date.now() - began;
}

/** The times at which R2 had no list under a key. The Worker remembers them, too. */
const absences = new Map();
const ABSENCE_MS = 30_000;

async function list(asked, key, releases, told, { refuse = missing } = {}) {
  const { value, metadata } = await getIndex(asked, key, "stream", LIST);
  if (value === null) {
    if (!(Date.now() - absences.get(key) < ABSENCE_MS)) {
      await lookInBucket(asked, (bucket) => bucket.list({ prefix: releases, include: ["customMetadata"] }));
      absences.set(key, Date.now());
    }
    return refuse(told);
  }
  const { etag } = metadata;
  if (asked.request.headers.get("if-none-match") === etag) return reply(304, asked.revalidate, { etag });
  return reply(200, asked.revalidate, { "content-type": "application/json", etag }, value);
}

/** The headers of stored bytes, which share the hostname with the web pages. */
const FENCE = {
  "content-security-policy": "sandbox; default-src 'none'",
  "content-disposition": "attachment",
  "cross-origin-resource-policy": "same-origin",
};

async function manifest(asked, key, release, told, seconds) {
  const { value, metadata } = await getIndex(asked, key, "stream", seconds);
  if (value === null) {
    await lookInBucket(asked, (bucket) => bucket.get(release));
    return missingOci("MANIFEST_UNKNOWN", told);
  }
  const { etag, content } = metadata;
  if (asked.request.headers.get("if-none-match") === etag) return reply(304, asked.revalidate, { etag });
  const headers = { "content-type": content.media_type, "content-length": content.size, "docker-content-digest": content.digest, etag };
  return reply(200, asked.revalidate, { ...headers, ...FENCE }, value);
}

async function version(asked, key, release, told, seconds, refuse, make) {
  const { value } = await getIndex(asked, key, "text", seconds);
  if (value === null) {
    await lookInBucket(asked, (bucket) => bucket.get(release));
    return refuse(told);
  }
  return make(JSON.parse(value), await signer(asked));
}

async function providerDownload(address, name, os, arch, index, sign) {
  const { protocols, shasums, signature, signing_key, packages } = index;
  const platform = `${os}_${arch}`;
  const found = packages.find((candidate) => candidate.platform === platform);
  if (!found) {
    const known = packages.map((candidate) => candidate.platform).join(", ");
    return missing(`version ${name} of ${address} has no package for ${platform}; it has ${known}`);
  }
  const [download_url, shasums_url, shasums_signature_url] = await Promise.all([
    sign(`${found.sha256}.zip`),
    sign(`${shasums}.SHA256SUMS`),
    sign(`${signature}.sig`),
  ]);
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
    packages: packages.every(({ h1 }) => h1) ? all : undefined,
  };
  return json(200, "no-store", JSON.stringify(body));
}

async function mirrorPackages({ packages }, sign) {
  const sorted = packages.toSorted(byPlatform);
  const urls = await Promise.all(sorted.map(({ sha256 }) => sign(`${sha256}.zip`)));
  const archives = {};
  sorted.forEach(({ platform, sha256, h1 }, at) => {
    archives[platform] = { url: urls[at], hashes: h1 ? [`zh:${sha256}`, h1] : [`zh:${sha256}`] };
  });
  return json(200, "no-store", JSON.stringify({ archives }));
}

async function moduleDownload({ format, sha256, subdir }, sign) {
  const url = await sign(`${sha256}.${format}`);
  const at = url.indexOf("?");
  const path = at < 0 ? url : url.slice(0, at);
  const query = at < 0 ? "" : `${url.slice(at + 1)}&`;
  const location = `${path}${subdir ? `//${subdir}` : ""}?${query}checksum=sha256:${sha256}`;
  const headers = { "content-type": "application/json", "x-terraform-get": location };
  return reply(200, "no-store", headers, JSON.stringify({ location }));
}

const byPlatform = (a, b) => (a.platform < b.platform ? -1 : 1);

/* Routes */

async function route(asked, path) {
  const at = path.split("/");
  if (path === "/.well-known/terraform.json") {
    asked.route = "discovery";
    return json(200, "public, max-age=300", '{"providers.v1":"/v1/providers/","modules.v1":"/v1/modules/"}');
  }
  const refusal = asked.env.TERRACE_ACCESS === "private" ? await closed(asked) : null;
  switch (at[1]) {
    case "v1": {
      if (at[2] === "providers" && at[5] === "versions") {
        const address = `${at[3]}/${at[4]}`;
        asked.route = "provider_versions";
        if (refusal) return refusal;
        const told = `this registry has no provider ${address}`;
        return list(asked, `providers/hosted/${address}/versions`, `releases/providers/hosted/${address}/`, told);
      }
      if (at[2] === "providers" && at[6] === "download") {
        const address = `${at[3]}/${at[4]}`;
        asked.route = "provider_download";
        if (refusal) return refusal;
        const told = `this registry has no version ${at[5]} of provider ${address}`;
        const make = (index, sign) => providerDownload(address, at[5], at[7], at[8], index, sign);
        const [key, release] = [`providers/hosted/${address}/version/${at[5]}`, `releases/providers/hosted/${address}/${at[5]}`];
        return version(asked, key, release, told, VERSION, missing, make);
      }
      const address = `${at[3]}/${at[4]}/${at[5]}`;
      if (at[2] === "modules" && at[6] === "versions") {
        asked.route = "module_versions";
        if (refusal) return refusal;
        return list(asked, `modules/${address}/versions`, `releases/modules/${address}/`, `this registry has no module ${address}`);
      }
      if (at[2] === "modules" && at[7] === "download") {
        asked.route = "module_download";
        if (refusal) return refusal;
        const told = `this registry has no version ${at[6]} of module ${address}`;
        const [key, release] = [`modules/${address}/version/${at[6]}`, `releases/modules/${address}/${at[6]}`];
        return version(asked, key, release, told, VERSION, missingText, moduleDownload);
      }
      break;
    }
    case "mirror": {
      const address = `${at[2]}/${at[3]}/${at[4]}`;
      if (at[5] === "index.json") {
        asked.route = "mirror_versions";
        if (refusal) return refusal;
        asked.mirrored = { package: address };
        const told = `this registry has no provider ${address}`;
        return list(asked, `providers/${address}/mirror`, `releases/providers/${address}/`, told);
      }
      asked.route = "mirror_packages";
      if (refusal) return refusal;
      const name = at[5].slice(0, -5);
      asked.mirrored = { package: address, version: name };
      const told = `this registry has no version ${name} of provider ${address}`;
      const [key, release] = [`providers/${address}/version/${name}`, `releases/providers/${address}/${name}`];
      return version(asked, key, release, told, LIST, missing, mirrorPackages);
    }
    case "v2": {
      const name = at[at.length - 1];
      const kind = at[at.length - 2];
      const hosted = at[2] === "providers" && at.length === 7 ? `hosted/${at[3]}/${at[4]}` : at.slice(3, -2).join("/");
      const shown = at.slice(3, -2).join("/");
      const what = at[2] === "modules" ? "module" : "provider";
      if (kind === "tags") {
        asked.route = "oci_tags";
        if (refusal) return refusal;
        const refuse = (told) => missingOci("NAME_UNKNOWN", told);
        const told = `this registry has no ${what} ${shown}`;
        return list(asked, `${at[2]}/${hosted}/tags`, `releases/${at[2]}/${hosted}/`, told, { refuse });
      }
      asked.route = "oci_manifest";
      if (refusal) return refusal;
      const told = `this registry has no version ${name} of ${what} ${shown}`;
      return manifest(asked, `${at[2]}/${hosted}/tag/${name}`, `releases/${at[2]}/${hosted}/${name}`, told, VERSION);
    }
  }
  asked.route = "none";
  return missing(`this registry has no path ${path}: check the URL`);
}

/* Signatures */

const imported = (bytes) => crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
const hmac = async (key, text) => new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));

let day = null;
let path = null;

/** Returns the function that signs archive URLs at this moment. */
async function signer({ env, origin }) {
  const now = Date.now();
  if (env.TERRACE_S3_ENDPOINT) {
    const stamp = new Date(now).toISOString();
    const date = stamp.slice(0, 10).replaceAll("-", "");
    if (day?.date !== date) day = await newDay(env, date);
    return (name) => presigned(env, day, `${date}T${stamp.slice(11, 19).replaceAll(":", "")}Z`, name);
  }
  const expires = Math.floor(now / 1000) + 900;
  path ??= await imported(encoder.encode((await hmac(await imported(encoder.encode(env.TERRACE_URL_SECRET)), "terrace archive URL 1")).toHex()));
  return async (name) => {
    const mac = await hmac(path, `GET\narchives/${name}\n0\n${expires}`);
    return `${origin}/archives/${expires}/${mac.toHex()}/${name}`;
  };
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

/* Tokens */

let tokenKey = null;
let revoked = null;

/** Returns the answer to a client without read access, or nothing. Wrong tokens are not measured. */
async function closed(asked) {
  const authorization = asked.request.headers.get("authorization");
  if (!authorization) {
    const headers = { "content-type": "application/json", "www-authenticate": 'Bearer realm="terrace"' };
    return reply(401, "no-store", headers, JSON.stringify({ errors: [CLOSED] }));
  }
  const whole = authorization.slice("Bearer ".length, authorization.lastIndexOf("."));
  const at = whole.lastIndexOf(".");
  const signed = whole.slice(0, at);
  tokenKey ??= await imported(await hmac(await imported(encoder.encode(asked.env.TERRACE_ADMIN_TOKEN)), "terrace API token 1"));
  const mac = Uint8Array.fromBase64(whole.slice(at + 1), { alphabet: "base64url" });
  if (!(await crypto.subtle.verify("HMAC", tokenKey, mac, encoder.encode(signed)))) throw new Error("a forged token");
  const [id, claims] = signed.slice("terrace_".length).split(".");
  const [expires, scopes] = atob(claims.replaceAll("-", "+").replaceAll("_", "/")).split("\n");
  if (expires && Number(expires) * 1000 < Date.now()) throw new Error("an old token");
  if (!scopes.split(" ").includes("read")) throw new Error("a token for something else");
  if ((await revocations(asked))[id]) throw new Error("a revoked token");
  asked.revalidate = "private, no-cache";
  return null;
}

/**
 * Returns the revoked tokens. The list is refreshed after the answer from an age of 10 seconds on, and before
 * it from 25 seconds on.
 */
async function revocations(asked) {
  const now = Date.now();
  if (revoked === null || now - revoked.read >= REVOCATIONS_MS) {
    asked.kv += 1;
    await readRevocations(asked.env, now);
  } else if (now - revoked.asked >= REVOCATIONS_FRESH_MS) {
    revoked.asked = now;
    asked.context.waitUntil(readRevocations(asked.env, now));
  }
  return revoked.all;
}

async function readRevocations(env, now) {
  const all = (await env.INDICES.get("revocations", { type: "json", cacheTtl: LIST })) ?? { revoked: {} };
  revoked = { read: now, asked: now, all: all.revoked };
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
    // The names of refused providers of other registries are always logged.
    ...(status === 404 && asked.mirrored),
  };
  console.log(JSON.stringify(line));
}

export default {
  async fetch(request, env, context) {
    const began = Date.now();
    const { url } = request;
    const slash = url.indexOf("/", "https://".length);
    const end = url.indexOf("?", slash);
    const asked = {
      request,
      env,
      context,
      origin: url.slice(0, slash),
      revalidate: "no-cache",
      kv: 0,
      kvMs: 0,
      r2: 0,
      r2Ms: 0,
    };
    const response = await route(asked, url.slice(slash, end < 0 ? undefined : end));
    log(asked, request.method, response.status, began);
    return response;
  },
};
