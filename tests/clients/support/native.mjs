// Registries that `terrace serve` runs, whatever the host of the other tests.
import { startNativeServer } from "../../../scripts/native-server.mjs";
import { newSecrets } from "../../../scripts/server.mjs";
import { Registry, trustCa } from "./registry.mjs";
import { scratch } from "./scratch.mjs";
import { before, cleanupOf } from "./testing.mjs";

/**
 * A registry for the tests of the suite that is being defined; `options` are those of `startNativeServer`, or a function that
 * returns them immediately before.
 */
export function useNativeRegistry(options = {}) {
  const registry = new NativeRegistry(cleanupOf(), scratch(undefined, { quick: true }), options);
  before(() => registry.start(), "starting the registry");
  return registry;
}

class NativeRegistry extends Registry {
  #cleanup;
  #stateDir;
  #options;
  #secrets = newSecrets();

  constructor(cleanup, stateDir, options) {
    super();
    this.#cleanup = cleanup;
    this.#stateDir = stateDir;
    this.#options = options;
  }

  /** Starts it, also after its end, on the same directory and by default another port: clients keep connections to the old one. */
  async start(at = {}) {
    const options = typeof this.#options === "function" ? await this.#options() : this.#options;
    const own = { secrets: this.#secrets, stateDir: this.#stateDir };
    Object.assign(this, await startNativeServer(this.#cleanup, { ...own, ...options, ...at }));
    if (options.https) await trustCa(this.env.SSL_CERT_FILE);
  }

  async restart(at) {
    await this.stop();
    await this.start(at);
  }
}
