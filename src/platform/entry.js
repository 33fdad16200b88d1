// The Worker's entry. It drives reads with `entry.rs` at the platform's own speed: it reads from KV, makes
// responses, and decides nothing. The Worker that worker-build generates from `lib.rs` handles everything
// else.
import Worker, { Machine } from "./wasm.js";

const { start, begin, finish, finish_several, resume } = Machine;

/** The first character of a text from the machine, as in `entry.rs`. */
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
      const ask = () => begin(method, request.url, header("if-none-match"), header("authorization"), header("user-agent"), Date.now());
      let said = ask();
      if (said === FETCH && start(env)) said = ask();
      let value = null;
      if (said[0] === READ) {
        const { ticket, key, options, takes_range } = JSON.parse(said.slice(1));
        const found = await env.INDICES.getWithMetadata(key, options);
        if (Array.isArray(key)) {
          said = finish_several(ticket, JSON.stringify(key.map((name) => pair(found.get(name)))), Date.now());
        } else {
          ({ value } = found);
          const bytes = value instanceof ArrayBuffer ? new Uint8Array(value) : undefined;
          const range = takes_range ? header("range") : undefined;
          said = finish(ticket, value === null ? "null" : JSON.stringify(found.metadata), bytes, range, Date.now());
        }
      }
      if (said[0] === ANSWER) return respond(said, value, env);
      if (said[0] === CONTINUE) return new Worker(context, env).resume(request, Number(said.slice(1)), value);
    } catch (error) {
      tell(error, env, context);
    }
    return new Worker(context, env).fetch(request);
  },

  scheduled(event, env, context) {
    return new Worker(context, env).scheduled(event);
  },
};

/** A value of a read of several keys with its metadata; both are null if the key has no value. */
function pair(found) {
  return [found?.value ?? null, found?.metadata ?? null];
}

/** Makes the response from an answer as `lines` of `entry.rs` writes it; `value` is the value that was read from KV. */
function respond(answer, value, env) {
  const line = answer.indexOf("\n") + 1;
  const point = answer.indexOf("\n", line) + 1;
  const text = answer.indexOf("\n", point) + 1;
  const init = parsed(answer.slice(1, line));
  const { body } = init;
  const response = new Response(body === "text" ? answer.slice(text) : body === "value" ? value : null, init);
  if (point - line > 1) console.log(answer.slice(line, point - 1));
  if (text - point > 1) count(env, answer.slice(point, text));
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

/** Only throws, so that the instance is replaced after a trap. */
Worker.prototype.fail = (error) => {
  throw error;
};

function tell(error, env, context) {
  try {
    new Worker(context, env).fail(error);
  } catch {
    console.error(`internal error: ${error}`);
  }
}
