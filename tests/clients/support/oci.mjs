// What the tests with OCI clients share: a registry over TLS, which most of them insist on.
import { readFile } from "node:fs/promises";
import tls from "node:tls";

import { unlessOnPath } from "./programs.mjs";
import { useRegistry } from "./registry.mjs";
import { before } from "./testing.mjs";

/** SSL_CERT_FILE is Go's way to name a CA on Linux; elsewhere Go asks the system. */
export const onlyLinux = process.platform === "linux" ? false : "SSL_CERT_FILE works on Linux only";

/** The `skip` option of a test that needs a client. */
export const unlessUsable = (program) => onlyLinux || unlessOnPath(program);

/** A registry over TLS, which this process trusts, too; its `host` is the one that clients know it by. `options` as of `startServer`. */
export function useTlsRegistry(mode, options = {}) {
  const registry = useRegistry({ ...options, mode, https: true });
  before(async () => {
    tls.setDefaultCACertificates([await readFile(registry.env.SSL_CERT_FILE, "utf8")]);
    registry.host = new URL(registry.url).host;
  });
  return registry;
}
