// Clients of the servers. Their CPU time is not counted as the server's, but they share its machine: so those of a load parse only as
// much of an answer as they need to know its end.
import { request as open } from "node:http";
import { connect } from "node:net";

/** The maximum time to wait for an answer. */
const PATIENCE_MS = 20_000;

const HOST = "127.0.0.1";
const HEAD_END = "\r\n\r\n";
const LAST_CHUNK = "0\r\n\r\n";

export class Client {
  #port;
  #connections = [];

  /** A client of a port of this machine. */
  constructor(port) {
    this.#port = port;
  }

  /** Sends a request. Returns `{ status, headers, body }`: the headers as lines. */
  ask({ path, headers }) {
    return new Promise((done, failed) => {
      const sent = open({ host: HOST, port: this.#port, path, headers, agent: false, timeout: PATIENCE_MS }, async (response) => {
        const body = Buffer.concat(await Array.fromAsync(response));
        const lines = response.rawHeaders.flatMap((name, at) => (at % 2 ? [] : [`${name}: ${response.rawHeaders[at + 1]}`]));
        done({ status: response.statusCode, headers: lines.sort(), body });
      });
      sent.on("timeout", () => sent.destroy(new Error(`no answer for ${PATIENCE_MS} ms`)));
      sent.on("error", failed);
      sent.end();
    });
  }

  /**
   * Sends the same request over that many persistent connections, again as soon as it is answered, for `ms`. Returns the number of
   * answers, which must have `status`.
   */
  async load({ path, headers }, { ms, status, connections }) {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const request = Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
    let answers = 0;
    const deadline = performance.now() + ms;
    const asking = Array.from({ length: connections }, async (_, at) => {
      while (performance.now() < deadline) {
        // A server may close idle connections.
        if (!this.#connections[at]?.writable) this.#connections[at] = connect({ host: HOST, port: this.#port }).setNoDelay().on("error", () => {});
        const head = await exchange(this.#connections[at], request);
        if (!head.startsWith(`HTTP/1.1 ${status} `)) throw new Error(`not status ${status}, but ${head}: ${path}`);
        answers += 1;
      }
    });
    await Promise.all(asking);
    return answers;
  }

  close() {
    for (const connection of this.#connections) connection.destroy();
  }
}

/** Sends a request over a connection, and returns the head of the answer after its end (RFC 9112, section 6.3, without trailers). */
function exchange(socket, request) {
  return new Promise((done, failed) => {
    let [head, tail, left] = ["", Buffer.alloc(0), 0];
    const read = (chunk) => {
      tail = Buffer.concat([tail, chunk]);
      if (head === "") {
        const end = tail.indexOf(HEAD_END);
        if (end < 0) return;
        head = tail.latin1Slice(0, end);
        const isEmpty = / (204|304) /.test(head.slice(0, 14));
        left = isEmpty ? 0 : Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? Number.NaN);
        tail = tail.subarray(end + HEAD_END.length);
        left -= tail.length;
      } else {
        left -= chunk.length;
      }
      tail = tail.subarray(-LAST_CHUNK.length);
      if (left === 0 || (Number.isNaN(left) && tail.latin1Slice() === LAST_CHUNK)) finish(done, head);
    };
    const closed = () => finish(failed, new Error("the server has closed the connection"));
    const finish = (settle, value) => {
      clearTimeout(late);
      socket.off("data", read).off("close", closed);
      settle(value);
    };
    const late = setTimeout(() => finish(failed, new Error(`no answer for ${PATIENCE_MS} ms`)), PATIENCE_MS);
    socket.on("data", read).on("close", closed);
    socket.write(request);
  });
}
