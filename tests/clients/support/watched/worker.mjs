// The Worker with instrumented bindings: counts its requests, its operations of KV and R2, and the size of
// its wasm memory. Runs in workerd together with the built index.js; `support/watched.mjs` combines them.
import "./memory.mjs";
import terrace, { Archives as CachedArchives } from "./index.js";

const nothing = () => ({ requests: [], operations: [], downloads: [] });
const watched = nothing();

/** Whether each operation of R2 fails, as in an outage. */
let isR2Down = false;

/** Returns a binding that records each call: its name, its key, and for reads from R2 the number of bytes requested. */
const watch = (name, binding, amend = (result) => result) =>
  new Proxy(binding, {
    get(target, property) {
      const value = target[property];
      if (typeof value !== "function" || property === "constructor") return value;
      return async (...args) => {
        const [key] = args;
        const operation = { name: `${name} ${property}`, key: typeof key === "string" ? key : key.prefix };
        watched.operations.push(operation);
        if (isR2Down && name === "R2") throw new Error("R2 is down in this test");
        const result = await value.apply(target, args);
        if (property === "get" && result?.body) operation.bytes = result.range?.length ?? result.range?.suffix ?? result.size;
        return amend(result, property, key);
      };
    },
  });

/** The size that the bucket states for each archive; its own if this is null. */
let statedSize = null;

/** Archives above the limit of the platform's cache would take too long to store: they state their size instead. */
function withStatedSize(object, property, key) {
  if (!object || statedSize === null || !["get", "head"].includes(property) || !key.startsWith("archives/")) return object;
  return altered(object, { size: statedSize });
}

/** Returns an object with other members. */
function altered(object, members) {
  return new Proxy(object, {
    get(target, name) {
      if (name in members) return members[name];
      const value = target[name];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/**
 * R2 checks the signed `x-amz-checksum-sha256` of an upload and keeps it; the simulator of its S3 endpoint
 * does neither. This function adds the checksum: in these tests, the contents of archives match their keys.
 */
function withChecksum(object, property, key) {
  const digest = /^archives\/([0-9a-f]{64})\./.exec(key)?.[1];
  if (!object || !["get", "head"].includes(property) || !digest) return object;
  const sha256 = Uint8Array.from(digest.match(/../g), (byte) => Number.parseInt(byte, 16)).buffer;
  return altered(object, { checksums: { sha256 } });
}

async function control(request, env, context) {
  const { searchParams: asked } = new URL(request.url);
  if (asked.has("r2")) isR2Down = asked.get("r2") === "down";
  if (asked.has("scheduled")) await terrace.scheduled({ cron: "* * * * *", scheduledTime: Date.now() }, instrumented(env), context);
  if (request.method === "POST") ({ statedSize } = await request.json());
  if (request.method === "PUT") {
    for (const objects of inBatches(await request.json())) {
      await Promise.all(objects.map(({ key, text, metadata }) => env.FACTS.put(key, text, { customMetadata: metadata })));
    }
  }
  const seen = { ...watched, wasmBytes: globalThis.wasmMemory.buffer.byteLength };
  Object.assign(watched, nothing());
  return Response.json(seen);
}

function* inBatches(items) {
  for (let at = 0; at < items.length; at += 100) yield items.slice(at, at + 100);
}

const instrumented = (env) => ({
  ...env,
  INDICES: watch("KV", env.INDICES),
  FACTS: watch("R2", env.FACTS, (object, ...call) => withStatedSize(env.KEEPS_CHECKSUMS ? withChecksum(object, ...call) : object, ...call)),
  DOWNLOADS: { writeDataPoint: (point) => watched.downloads.push(point) },
});

/** The archives behind the platform's cache, which workerd does not have. */
export class Archives extends CachedArchives {
  constructor(context, env) {
    super(context, instrumented(env));
  }

  fetch(request) {
    const { method, url } = request;
    watched.requests.push({ method, path: new URL(url).pathname, bytes: 0 });
    return super.fetch(request);
  }
}

export default {
  fetch(request, env, context) {
    const { pathname } = new URL(request.url);
    if (pathname === "/.watched") return control(request, env, context);
    watched.requests.push({ method: request.method, path: pathname, bytes: Number(request.headers.get("content-length") ?? 0) });
    return terrace.fetch(request, instrumented(env), context);
  },
};
