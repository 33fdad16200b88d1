// The server that the broken test files in this folder start: it refuses to end, and keeps writing to its
// directory.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { temporaryDirectory } from "../../../scripts/lib/cleanup.mjs";
import { serve } from "../../../scripts/lib/run.mjs";

export const forever = () => new Promise((done) => setTimeout(done, 2 ** 30));

/** Starts it; `cleanup` stops it and removes its directory. Returns the result of `serve` and the `directory`. */
export async function startStubbornServer(cleanup) {
  const directory = temporaryDirectory(cleanup);
  const program = join(import.meta.dirname, "stubborn-server.mjs");
  const server = await serve(process.execPath, [program, directory], { log: join(directory, "log") });
  cleanup.add("stopping the server", server.stop);
  while (!existsSync(join(directory, "ready"))) await sleep(20);
  return { ...server, directory };
}
