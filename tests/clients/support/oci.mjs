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

/**
 * A registry over TLS, which this process trusts, too; its `host` is the one that clients know it by.
 *
 * Locally R2's S3 endpoint has the registry's own host and port, so that clients which have credentials for the registry send
 * them there as well, and it refuses them. `hostname` can be "localhost", which is another host to them.
 */
export function useTlsRegistry(mode, hostname = "127.0.0.1") {
  const registry = useRegistry({ mode, https: true });
  before(async () => {
    tls.setDefaultCACertificates([await readFile(registry.env.SSL_CERT_FILE, "utf8")]);
    registry.host = `${hostname}:${new URL(registry.url).port}`;
  });
  return registry;
}

/** The same for clients that push, some of which insist on plain HTTP where the host is "localhost": its Worker signs URLs. */
export const useTlsRegistryToPush = () => useTlsRegistry("worker");
