// The Worker's entry. It drives reads with `entry.rs` at the platform's own speed: it reads from KV, makes
// responses, and decides nothing. A read that needs more continues in `Machine::resume`; the Worker that worker-build
// generates from `lib.rs` handles everything else. `scripts/build.mjs` puts this file beside that Worker, and calls
// the two `index.js` and `wasm.js`.
import { WorkerEntrypoint } from "cloudflare:workers";

import Worker, { Machine } from "./wasm.js";

const { start, begin, finish, finish_several, resume, archive } = Machine;

/** The first character of a text from the machine. `mod tag` of `entry.rs` explains each, and what follows it. */
const ANSWER = "a";
const READ = "r";
const CONTINUE = "c";
const FETCH = "f";

export default {
  async fetch(request, env, context) {
    const { method, headers } = request;
    if (method !== "GET" && method !== "HEAD") return new Worker(context, env).fetch(request);
    try {
      const header = (name) => headers.get(name) ?? undefined;
      const beginRead = () => begin(method, request.url, header("if-none-match"), header("authorization"), header("user-agent"), Date.now());
      let output = beginRead();
      if (output === FETCH && start(env)) output = beginRead();
      let value = null;
      if (output[0] === READ) {
        const { ticket, key, options, takes_range } = JSON.parse(output.slice(1));
        const found = await env.INDICES.getWithMetadata(key, options);
        if (Array.isArray(key)) {
          output = finish_several(ticket, JSON.stringify(key.map((name) => pair(found.get(name)))), Date.now());
        } else {
          ({ value } = found);
          const bytes = value instanceof ArrayBuffer ? new Uint8Array(value) : undefined;
          const range = takes_range ? header("range") : undefined;
          output = finish(ticket, value === null ? "null" : JSON.stringify(found.metadata), bytes, range, Date.now());
        }
      }
      if (output[0] === ANSWER) return respond(output, value, env);
      if (output[0] === CONTINUE) return new Worker(context, env).resume(request, Number(output.slice(1)), value);
    } catch (error) {
      report(error, env, context);
    }
    return new Worker(context, env).fetch(request);
  },

  scheduled(event, env, context) {
    return new Worker(context, env).scheduled(event);
  },
};

/**
 * The archives behind the platform's cache, which `archive_cache.rs` calls. The cache stands in front of `fetch`: nothing but
 * the path may decide about its answer. Only this Worker, and Workers of the same account that bind it, can call it.
 */
export class Archives extends WorkerEntrypoint {
  fetch({ method, url }) {
    return new Worker(this.ctx, this.env).archive(method, url);
  }

  /** Removes the answers with these tags from the cache of this entrypoint. Returns the reason if the platform refuses. */
  async purge(tags) {
    const { cache } = this.ctx;
    if (!cache) return undefined;
    const { success, errors = [] } = await cache.purge({ tags });
    return success ? undefined : errors.map(({ code, message }) => `${message} (${code})`).join("; ") || "refused";
  }
}

/** A value of a read of several keys with its metadata; both are null if the key has no value. */
function pair(found) {
  return [found?.value ?? null, found?.metadata ?? null];
}

/** Makes the response from an answer, whose form `lines` of `entry.rs` explains; `value` was read from KV. */
function respond(answer, value, env) {
  const lineStart = answer.indexOf("\n") + 1;
  const pointStart = answer.indexOf("\n", lineStart) + 1;
  const textStart = answer.indexOf("\n", pointStart) + 1;
  const init = parsed(answer.slice(1, lineStart));
  const { body } = init;
  const response = new Response(body === "text" ? answer.slice(textStart) : body === "value" ? value : null, init);
  if (pointStart - lineStart > 1) console.log(answer.slice(lineStart, pointStart - 1));
  if (textStart - pointStart > 1) count(env, answer.slice(pointStart, textStart));
  return response;
}

const heads = new Map();
const MOST_HEADS = 64;
/** Longer heads contain an ETag or a URL, and hardly repeat. */
const REPEATED_CHARACTERS = 160;

/** All other answers have one of a few heads, so each head is parsed only once. */
function parsed(head) {
  if (head.length > REPEATED_CHARACTERS) return JSON.parse(head);
  const known = heads.get(head);
  if (known !== undefined) return known;
  if (heads.size === MOST_HEADS) heads.clear();
  const init = JSON.parse(head);
  heads.set(head, init);
  return init;
}

function count(env, point) {
  try {
    env.DOWNLOADS.writeDataPoint(JSON.parse(point));
  } catch (error) {
    console.warn(`a download was not counted (binding DOWNLOADS): ${error}`);
  }
}

/**
 * Continues a request where the machine stopped. worker-build replaces an instance of the wasm when a method
 * of its class throws the error of a trap.
 */
Worker.prototype.resume = async function (request, ticket, value) {
  return resume(request, this.env, this.ctx, ticket, value);
};

/** Answers a request of the cache of archives. */
Worker.prototype.archive = async function (method, url) {
  return archive(method, url, this.env);
};

/** Only throws, so that the instance is replaced after a trap. */
Worker.prototype.fail = (error) => {
  throw error;
};

/** Logs an internal error; after a trap the instance is replaced. */
function report(error, env, context) {
  try {
    new Worker(context, env).fail(error);
  } catch {
    console.error(`internal error: ${error}`);
  }
}
