// Shared by the tests with OCI clients: a registry over TLS, which most of them require.

import { onlyLinux } from "./client.mjs";
import { unlessOnPath } from "./programs.mjs";
import { useRegistry } from "./registry.mjs";
import { before } from "./testing.mjs";

/** The `skip` option of a test that needs a client. */
export const unlessUsable = (program) => onlyLinux || unlessOnPath(program);

/** Starts a registry over TLS, which this process trusts, too; clients use its `host`. `options` are those of `startServer`. */
export function useTlsRegistry(mode, options = {}) {
  const registry = useRegistry({ ...options, mode, https: true });
  before(async () => {
    registry.host = new URL(registry.url).host;
  });
  return registry;
}
