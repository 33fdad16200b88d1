// Clients that send the next request as soon as the last is answered, over persistent connections. Their CPU
// time is not counted as the server's, but they share its machine: so this parses HTTP/1.1 itself, and only
// as much as needed.
import { connect } from "node:net";

/** Returns a request as it is sent over the wire. */
export function wire({ path, headers }) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
}

/** The maximum time to wait for an answer. */
const PATIENCE_MS = 20_000;

export class Connection {
  #port;
  #socket;
  #pending = Buffer.alloc(0);
  #answer;

  /** Connects to a port of this machine. */
  static async open(port) {
    const connection = new Connection();
    connection.#port = port;
    await connection.#open();
    return connection;
  }

  async #open() {
    this.#pending = Buffer.alloc(0);
    const socket = await new Promise((done, failed) => {
      const opened = connect({ host: "127.0.0.1", port: this.#port });
      opened.once("connect", () => done(opened)).on("error", failed);
    });
    socket.setNoDelay();
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("close", () => this.#fail("the server has closed the connection"));
    this.#socket = socket;
  }

  close() {
    this.#socket.destroy();
  }

  /** Sends a request. Returns `{ status, head, bytes, body }`, the body only with `keep`. */
  async ask(request, { keep = false } = {}) {
    // A server may close idle connections.
    if (!this.#socket.writable) await this.#open();
    const answered = new Promise((done, failed) => {
      this.#answer = { done, failed, keep, head: null, bytes: 0, chunks: [] };
    });
    this.#socket.write(request);
    return answered;
  }

  #fail(told) {
    this.#answer?.failed(new Error(told));
    this.#answer = null;
  }

  /** Fails the unanswered requests. */
  giveUp() {
    this.#fail(`no answer for ${PATIENCE_MS} ms`);
  }

  #read(chunk) {
    const answer = this.#answer;
    if (!answer) return;
    let data = this.#pending.length ? Buffer.concat([this.#pending, chunk]) : chunk;
    if (answer.head === null) {
      const end = data.indexOf("\r\n\r\n");
      if (end < 0) {
        this.#pending = data;
        return;
      }
      answer.head = data.latin1Slice(0, end);
      answer.status = Number(answer.head.slice(9, 12));
      answer.framing = this.#framing(answer);
      data = data.subarray(end + 4);
    }
    this.#pending = data;
    if (answer.framing.take(this)) this.#done();
  }

  #framing({ head, status }) {
    const [, length] = /^content-length: *(\d+)/im.exec(head) ?? [];
    if (status === 204 || status === 304) return new Sized(0);
    if (length !== undefined) return new Sized(Number(length));
    return new Chunked();
  }

  /** Consumes at most `most` bytes of the received body, and returns their number. */
  body(most) {
    const taken = Math.min(most, this.#pending.length);
    this.#answer.bytes += taken;
    if (this.#answer.keep) this.#answer.chunks.push(this.#pending.subarray(0, taken));
    this.#pending = this.#pending.subarray(taken);
    return taken;
  }

  /** Returns the next line without its end; `null` if it is incomplete. */
  line() {
    const end = this.#pending.indexOf("\r\n");
    if (end < 0) return null;
    const line = this.#pending.latin1Slice(0, end);
    this.#pending = this.#pending.subarray(end + 2);
    return line;
  }

  #done() {
    const { done, status, head, bytes, chunks } = this.#answer;
    this.#answer = null;
    done({ status, head, bytes, body: Buffer.concat(chunks) });
  }
}

/** A body of known length. `take` returns whether it is complete. */
class Sized {
  constructor(left) {
    this.left = left;
  }

  take(connection) {
    this.left -= connection.body(this.left);
    return this.left === 0;
  }
}

/** A body in chunks (RFC 9112, section 7.1), without trailers. */
class Chunked {
  left = 0;
  isBetween = false;
  isLast = false;

  take(connection) {
    for (;;) {
      if (this.left > 0) {
        this.left -= connection.body(this.left);
        if (this.left > 0) return false;
        this.isBetween = true;
      }
      const line = connection.line();
      if (line === null) return false;
      if (this.isLast) return true;
      if (this.isBetween) {
        this.isBetween = false;
        continue;
      }
      this.left = Number.parseInt(line, 16);
      this.isLast = this.left === 0;
    }
  }
}

/**
 * Sends the same request over all `connections` for `ms`, and returns `{ seconds, latencies }`. Every answer
 * must have `status`.
 */
export async function load(connections, request, { ms, status }) {
  const latencies = [];
  const started = performance.now();
  const deadline = started + ms;
  const late = setTimeout(() => connections.forEach((connection) => connection.giveUp()), ms + PATIENCE_MS);
  const asking = connections.map(async (connection) => {
    for (let asked = performance.now(); asked < deadline; ) {
      const answer = await connection.ask(request);
      if (answer.status !== status) throw new Error(`status ${answer.status} instead of ${status}: ${request}`);
      const now = performance.now();
      latencies.push(now - asked);
      asked = now;
    }
  });
  await Promise.all(asking).finally(() => clearTimeout(late));
  return { seconds: (performance.now() - started) / 1000, latencies };
}
