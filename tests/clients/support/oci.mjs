// Shared by the tests with OCI clients: a registry over TLS, which most of them require.
import { readFile } from "node:fs/promises";
import tls from "node:tls";

import { unlessOnPath } from "./programs.mjs";
import { useRegistry } from "./registry.mjs";
import { before } from "./testing.mjs";

/** Go reads SSL_CERT_FILE on Linux; on other systems it uses the system's CAs. */
export const onlyLinux = process.platform === "linux" ? false : "SSL_CERT_FILE works on Linux only";

/** The `skip` option of a test that needs a client. */
export const unlessUsable = (program) => onlyLinux || unlessOnPath(program);

/** Starts a registry over TLS, which this process trusts, too; clients use its `host`. `options` are those of `startServer`. */
export function useTlsRegistry(mode, options = {}) {
  const registry = useRegistry({ ...options, mode, https: true });
  before(async () => {
    tls.setDefaultCACertificates([await readFile(registry.env.SSL_CERT_FILE, "utf8")]);
    registry.host = new URL(registry.url).host;
  });
  return registry;
}
