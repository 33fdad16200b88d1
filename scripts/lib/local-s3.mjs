// R2's S3 endpoint, as wrangler simulates it, under another host than the registry's.
//
// The simulator listens on the registry's address. Clients send the registry's credentials along with a redirect to the same
// host, and the simulator refuses such a request, as R2 would; but R2 has a host of its own. Clients compare host names
// (Go's HTTP client), or names and ports (crane). So the endpoint differs in both: its name is `localhost`, which every
// system resolves and the local certificate includes, and its port is that of a forwarder.
import { connect, createServer } from "node:net";
import { pipeline } from "node:stream";

const PATH = "/cdn-cgi/local/r2/s3";
const NAME = "localhost";

/** The addresses of `localhost`: a client uses either of them. Some machines have no IPv6. */
const ADDRESSES = ["127.0.0.1", "::1"];
const ATTEMPTS = 10;

/** The bucket of the local registry, and the path of its S3 endpoint. */
const BUCKET = { bucket: "terrace", region: "auto" };

/**
 * Opens the endpoint of the registry that listens on `port` of this machine; returns `{ endpoint, bucket,
 * region, accessKeyId, secretAccessKey }`. `cleanup` closes it.
 */
export async function openS3(cleanup, { port, https = false, credentials }) {
  const forwarded = await openForwarder(cleanup, port);
  return { endpoint: `${https ? "https" : "http"}://${NAME}:${forwarded}${PATH}`, ...BUCKET, ...credentials };
}

/** The variables that configure a Worker for the endpoint. */
export const s3Variables = (s3) => ({
  TERRACE_S3_ENDPOINT: s3.endpoint,
  TERRACE_S3_BUCKET: s3.bucket,
  TERRACE_S3_REGION: s3.region,
  TERRACE_S3_ACCESS_KEY_ID: s3.accessKeyId,
  TERRACE_S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
});

/** Forwards TCP connections unchanged: requests keep their `Host`, which is signed, and TLS stays end to end. */
async function openForwarder(cleanup, target) {
  const open = new Set();
  const forward = (incoming) => {
    const outgoing = connect({ port: target, host: ADDRESSES[0], allowHalfOpen: true });
    for (const socket of [incoming, outgoing]) {
      open.add(socket);
      socket.on("close", () => open.delete(socket));
    }
    pipeline(incoming, outgoing, () => {});
    pipeline(outgoing, incoming, () => {});
  };
  const servers = await listenOnAll(forward);
  cleanup.add("closing the S3 endpoint", () => {
    for (const server of servers) server.close();
    for (const socket of open) socket.destroy();
  });
  return servers[0].address().port;
}

/** Listens on the same port of all addresses. Another program may already use it on the second one. */
async function listenOnAll(forward) {
  for (let attempt = 1; ; attempt += 1) {
    const first = await listen(forward, 0, ADDRESSES[0]);
    try {
      return [first, await listen(forward, first.address().port, ADDRESSES[1])];
    } catch (error) {
      if (error.code !== "EADDRINUSE") return [first];
      first.close();
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

function listen(forward, port, host) {
  return new Promise((done, failed) => {
    const server = createServer({ allowHalfOpen: true }, forward);
    server.once("error", failed);
    server.listen(port, host, () => done(server));
  });
}
