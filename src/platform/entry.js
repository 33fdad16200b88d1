// The Worker's entry. It drives the reads of `entry.rs` at the platform's own speed: it reads from KV, makes responses, and
// decides nothing. All else is for the Worker that worker-build makes of `lib.rs`.
import Worker, { Machine } from "./wasm.js";

const { start, begin, finish } = Machine;

export default {
  async fetch(request, env, context) {
    const { method, headers } = request;
    if (method !== "GET" && method !== "HEAD") return new Worker(context, env).fetch(request);
    let read = null;
    try {
      const header = (name) => headers.get(name) ?? undefined;
      const ask = () => begin(method, request.url, header("if-none-match"), header("authorization"), header("user-agent"), Date.now());
      let begun = ask();
      if (begun === "" && start(env)) begun = ask();
      if (begun.startsWith(TO_READ)) {
        const { ticket, key, options, takes_range } = JSON.parse(begun);
        const began = Date.now();
        const { value, metadata } = await env.INDICES.getWithMetadata(key, options);
        const now = Date.now();
        read = { key, found: { value, metadata, waited: now - began } };
        const bytes = value instanceof ArrayBuffer ? new Uint8Array(value) : undefined;
        const range = takes_range ? header("range") : undefined;
        // Also where nothing was found: what waits for it is let go.
        const told = value === null ? "null" : JSON.stringify(metadata);
        const finished = finish(ticket, told, bytes, range, now);
        if (finished !== "") return respond(finished, value, env);
      } else if (begun !== "") return respond(begun, null, env);
    } catch (error) {
      tell(error, env, context);
    }
    return new Worker(context, read === null ? env : knowing(env, read)).fetch(request);
  },

  scheduled(event, env, context) {
    return new Worker(context, env).scheduled(event);
  },
};

const TO_READ = '{"ticket"';

/** Makes the response of an answer as `lines` of `entry.rs` writes it; `value` is what was read from KV. */
function respond(answer, value, env) {
  const line = answer.indexOf("\n") + 1;
  const point = answer.indexOf("\n", line) + 1;
  const text = answer.indexOf("\n", point) + 1;
  const init = parsed(answer.slice(0, line));
  const { body } = init;
  const response = new Response(body === "text" ? answer.slice(text) : body === "value" ? value : null, init);
  if (point - line > 1) console.log(answer.slice(line, point - 1));
  if (text - point > 1) count(env, answer.slice(point, text));
  return response;
}

const heads = new Map();
const MOST_HEADS = 64;
/** Longer ones have an ETag or a URL in them, and hardly repeat. */
const REPEATED_CHARACTERS = 160;

/** All other answers have one of a few heads, so that each of those is parsed once. */
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
    console.warn(`DOWNLOADS: ${error}`);
  }
}

/** The same bindings, where what was found under a key is not read again. */
function knowing(env, { key, found }) {
  const { INDICES } = env;
  let known = found;
  const getWithMetadata = (asked, options) => {
    if (asked !== key || known === null) return INDICES.getWithMetadata(asked, options);
    const first = known;
    known = null;
    return Promise.resolve(first);
  };
  const others = ["list", "put", "delete"].map((name) => [name, (...args) => INDICES[name](...args)]);
  // Copied, not inherited: the configuration is read from the names that `Object.keys` lists.
  return { ...env, INDICES: { getWithMetadata, ...Object.fromEntries(others) } };
}

/** worker-build replaces an instance of the wasm when a method of its class throws what a trap throws; this one only throws. */
Worker.prototype.fail = (error) => {
  throw error;
};

function tell(error, env, context) {
  try {
    new Worker(context, env).fail(error);
  } catch {
    console.error(`entry: ${error}`);
  }
}
