/** The bindings and settings of a registry. `requirements.json` lists the bindings of this version. */
export interface Env {
  /** The KV namespace with the indices that clients read. */
  INDICES: object;
  /** The R2 bucket with archives and releases. */
  FACTS: object;
  /** Counts wrong credentials. */
  FAILURES?: object;
  /** Counts anonymous searches. */
  SEARCHES?: object;
  /** An Analytics Engine dataset that counts downloads. */
  DOWNLOADS?: object;
  /** The settings, all named `TERRACE_…`: strings, or in `[vars]` also lists. */
  [setting: string]: unknown;
}

/** What the platform passes besides the request. */
export interface Context {
  waitUntil(promise: Promise<unknown>): void;
  passThroughOnException(): void;
}

declare const worker: {
  fetch(request: Request, env: Env, context: Context): Promise<Response>;
  /** One step of the repair. */
  scheduled(event: object, env: Env, context: Context): Promise<void>;
};

/** The archives behind the platform's cache; `wrangler.jsonc` names this entrypoint. */
export declare class Archives {
  fetch(request: Request): Promise<Response>;
  purge(tags: string[]): Promise<string | undefined>;
}

export default worker;
