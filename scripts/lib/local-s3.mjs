// R2's S3 endpoint, as wrangler simulates it, under another host than the registry's.
//
// The simulator listens on the registry's address. Clients send the registry's credentials along with a redirect to the same
// host, and the simulator refuses such a request, as R2 would; but R2 has a host of its own. Clients compare host names
// (Go's HTTP client), or names and ports (crane). So the endpoint differs in both: its name is `localhost`, which every
// system resolves and the local certificate includes, and its port is that of a forwarder.
import { connect, createServer } from "node:net";
import { pipeline } from "node:stream";

const PATH = "/cdn-cgi/local/r2/s3";
const HOST = "127.0.0.1";

/**
 * Opens the endpoint of the registry that listens on `port` of this machine; returns `{ endpoint, bucket,
 * region, accessKeyId, secretAccessKey }`. `cleanup` closes it.
 */
export async function openS3(cleanup, { port, https = false, credentials }) {
  const forwarder = await openForwarder(cleanup, () => port);
  return { endpoint: `${https ? "https" : "http"}://localhost:${forwarder.port}${PATH}`, bucket: "terrace", region: "auto", ...credentials };
}

/**
 * Forwards TCP connections unchanged to the port that `target` returns: requests keep their `Host`, which is signed, and TLS stays
 * end to end. `sees` receives what clients send. `stop` ends all connections, and `start` accepts new ones.
 */
export async function openForwarder(cleanup, target, sees = () => {}) {
  const open = new Set();
  const server = createServer({ allowHalfOpen: true }, (incoming) => {
    const outgoing = connect({ port: target(), host: HOST, allowHalfOpen: true });
    for (const socket of [incoming, outgoing]) {
      open.add(socket);
      socket.on("close", () => open.delete(socket));
    }
    incoming.on("data", sees);
    pipeline(incoming, outgoing, () => {});
    pipeline(outgoing, incoming, () => {});
  });
  // Clients that try the other address of `localhost` first go on to this one.
  const listen = (port) => new Promise((done) => server.listen(port, HOST, done));
  await listen(0);
  const { port } = server.address();
  const stop = async () => {
    const closed = server.listening && new Promise((done) => server.close(done));
    for (const socket of open) socket.destroy();
    await closed;
  };
  cleanup.add("closing a forwarder", stop);
  return { port, stop, start: () => listen(port) };
}

/** The variables that configure a Worker for the endpoint. */
export const s3Variables = (s3) => ({
  TERRACE_S3_ENDPOINT: s3.endpoint,
  TERRACE_S3_BUCKET: s3.bucket,
  TERRACE_S3_REGION: s3.region,
  TERRACE_S3_ACCESS_KEY_ID: s3.accessKeyId,
  TERRACE_S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
});
