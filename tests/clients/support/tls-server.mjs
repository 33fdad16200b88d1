// Servers of tests over TLS, as other organisations run them.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";

import { ensureCertificates } from "../../../scripts/lib/tls.mjs";

/** Starts a server at a free port of this machine. Its certificate is in `directory`, and `ca` the file with the CA that issued it. */
export async function serveTls(directory, handle) {
  const { key, cert, ca } = await ensureCertificates(directory);
  const server = createServer({ key: await readFile(key), cert: await readFile(cert) }, handle);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  return { port, url: `https://127.0.0.1:${port}`, ca, stop: () => (server.closeAllConnections(), server.close()) };
}
