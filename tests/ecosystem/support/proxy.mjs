// A proxy for tools that accept a registry's name only without a port: it maps that name to a local registry.
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";

const LOCAL = "127.0.0.1";

/**
 * Opens a proxy for HTTPS (RFC 9110, CONNECT). `hosts` maps host names to ports of this machine. Ports of
 * this machine can also be reached by its own names; other hosts are refused, and their names added to
 * `refused`. TLS stays end to end.
 */
export async function openProxy(cleanup, hosts) {
  const open = new Set();
  const proxy = { refused: [] };
  const server = createServer((request, response) => refuse(proxy, request.url, response));
  server.on("connect", (request, incoming, head) => {
    const port = localPort(hosts, request.url);
    if (port === null) return refuseConnection(proxy, request.url, incoming);
    const outgoing = connect(port, LOCAL, () => {
      incoming.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      outgoing.write(head);
      incoming.pipe(outgoing).pipe(incoming);
    });
    for (const [socket, other] of [[incoming, outgoing], [outgoing, incoming]]) {
      open.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => open.delete(socket));
    }
  });
  server.listen(0, LOCAL);
  await once(server, "listening");
  cleanup.add("closing the proxy", () => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  proxy.url = `http://${LOCAL}:${server.address().port}`;
  return proxy;
}

/** Returns the port of this machine that `authority` is mapped to, or `null`. */
function localPort(hosts, authority) {
  const { hostname, port } = new URL(`http://${authority}`);
  if (hostname === LOCAL || hostname === "localhost") return Number(port);
  return hosts[hostname] ?? null;
}

function refuse(proxy, target, response) {
  proxy.refused.push(target);
  response.writeHead(403).end();
}

function refuseConnection(proxy, target, socket) {
  proxy.refused.push(target);
  socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
}
