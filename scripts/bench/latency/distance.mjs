// A network with a round-trip time: a TCP proxy that holds each piece for half of it, and the first one for a whole round trip
// more, because the client has waited for none when it connected. Bandwidth is not limited, and TCP's slow start is not simulated.
import { once } from "node:events";
import { connect, createServer } from "node:net";

/** Opens a proxy to a port of this machine: `{ port, stop }`, with `roundTrip` in milliseconds, which can be set. */
export async function openDistance(target) {
  const distance = { roundTrip: 0, connections: 0 };
  const sockets = new Set();
  const server = createServer((client) => {
    distance.connections += 1;
    const far = connect(target, "127.0.0.1");
    for (const socket of [client, far]) {
      sockets.add(socket.setNoDelay());
      socket.on("close", () => sockets.delete(socket));
    }
    hold(client, far, () => distance.roundTrip / 2, distance.roundTrip);
    hold(far, client, () => distance.roundTrip / 2, 0);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  distance.port = server.address().port;
  distance.stop = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return distance;
}

/** Passes on what arrives, in its order, after `delay()` milliseconds; the first piece after `more` in addition. */
function hold(from, to, delay, more) {
  let [last, extra] = [0, more];
  const later = (act) => {
    const now = performance.now();
    last = Math.max(last, now + delay() + extra);
    extra = 0;
    setTimeout(act, last - now);
  };
  from.on("data", (piece) => later(() => to.writable && to.write(piece)));
  from.on("end", () => later(() => to.end()));
  from.on("error", () => to.destroy());
  from.on("close", () => later(() => to.destroy()));
}
