// The HTTPS end of a server on this machine, as a client sees it: it counts requests and their times, and forwards them or
// answers them from a recording.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, request as ask } from "node:http";
import { createSecureServer } from "node:http2";

import { openDistance } from "./distance.mjs";

const HEADERS = ["content-type", "etag", "cache-control", "x-terraform-get"];

/**
 * Opens a front for the server at a port, behind a distance: `{ origin, distance, times, recording, stop }`. `times` are the begins
 * and ends of the requests; `recording` is a map of the answers by path. With `replays`, a map, the answers come from there.
 */
export async function openFront({ port, certificates, replays }) {
  const front = { times: [], recording: new Map() };
  const agent = new Agent({ keepAlive: true });
  const tls = { key: await readFile(certificates.key), cert: await readFile(certificates.cert), allowHTTP1: true };
  const server = createSecureServer(tls, async (request, response) => {
    const began = performance.now();
    try {
      const answer = replays ? replays.get(request.url) : await forward(request, { port, agent, origin: front.origin });
      const { status, headers, body } = answer ?? { status: 404, headers: {}, body: Buffer.alloc(0) };
      front.recording.set(request.url, answer);
      response.writeHead(status, { ...headers, "content-length": body.length });
      response.end(body);
    } catch (error) {
      console.error(error);
      response.stream?.destroy();
    }
    front.times.push([began, performance.now()]);
  });
  const sessions = new Set();
  server.on("session", (session) => sessions.add(session));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  front.distance = await openDistance(server.address().port);
  front.origin = `https://127.0.0.1:${front.distance.port}`;
  front.stop = () => {
    for (const session of sessions) session.destroy();
    front.distance.stop();
    server.close();
    agent.destroy();
  };
  return front;
}

/** Forwards a GET. The server is reached without TLS, so its own URLs are changed. */
async function forward({ url, headers }, { port, agent, origin }) {
  const { host } = new URL(origin);
  const passed = Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(":") && name !== "connection"));
  const sent = ask({ port, host: "127.0.0.1", path: url, agent, headers: { ...passed, host, "accept-encoding": "identity" } });
  sent.end();
  const [answer] = await once(sent, "response");
  const pieces = [];
  for await (const piece of answer) pieces.push(piece);
  const ours = (text) => text.replaceAll(`http://${host}`, origin);
  const body = Buffer.concat(pieces);
  const isJson = answer.headers["content-type"]?.startsWith("application/json");
  const kept = HEADERS.flatMap((name) => (name in answer.headers ? [[name, ours(answer.headers[name])]] : []));
  return { status: answer.statusCode, headers: Object.fromEntries(kept), body: isJson ? Buffer.from(ours(body.toString())) : body };
}
