// The log of a deployed Worker, as `wrangler tail` shows it to the account that wrangler is signed in to.
import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";

import { nodeForWrangler } from "../../../scripts/lib/npm.mjs";
import { npmFile } from "../../../scripts/lib/paths.mjs";
import { serve } from "../../../scripts/lib/run.mjs";

/** The maximum time until a request is in the log, in milliseconds, and the pause between two looks. */
const SHOWN_MS = 30_000;
const PAUSE_MS = 500;

/** The part of wrangler's output that is quoted if a request is missing in it. */
const END_CHARACTERS = 600;

/** One document of `wrangler tail --format json`, on one line or on several. */
const DOCUMENT = /^\{$[\s\S]*?^\}$|^\{.*\}$/gm;

/**
 * Follows the log of a Worker, in a file. `cleanup` ends that. Returns a function from a response of the Worker to the lines of its
 * request; it waits until they are shown.
 */
export async function followLog(cleanup, { worker, file, request }) {
  const args = ["--no-warnings", npmFile("wrangler", "wrangler-dist", "cli.js"), "tail", worker, "--format", "json"];
  const tail = await serve(nodeForWrangler(), args, { log: file });
  cleanup.add("ending `wrangler tail`", tail.stop);
  const linesOf = async (response, until = Date.now() + SHOWN_MS) => {
    const [ray] = (response.headers.get("cf-ray") ?? "").split("-");
    if (!ray) throw new Error(`the answer of ${response.url} has no cf-ray: it does not come from the platform`);
    for (;;) {
      const lines = linesIn(await readFile(file, "utf8"), ray);
      if (lines) return lines;
      if (Date.now() > until) throw new Error(`\`wrangler tail ${worker}\` does not show the request ${ray}. The end of its output:\n${await endOf(file)}`);
      await pause(PAUSE_MS);
    }
  };
  // Requests are shown only after the connection, of which wrangler says nothing in this format.
  for (const until = Date.now() + SHOWN_MS; ; ) {
    const shown = await linesOf(await request(), Date.now() + 2_000).catch((error) => error);
    if (!(shown instanceof Error)) return linesOf;
    if (Date.now() > until) throw shown;
  }
}

/** Returns the end of a log, which states why wrangler shows nothing, for example that it is not signed in. */
const endOf = async (file) => (await readFile(file, "utf8")).slice(-END_CHARACTERS).trim() || "(none)";

/** Returns the lines that the request with this ray wrote; `undefined` if it is not in the log. */
function linesIn(log, ray) {
  const events = [...log.matchAll(DOCUMENT)].map(([text]) => JSON.parse(text));
  const found = events.find(({ event }) => event?.request?.headers?.["cf-ray"]?.split("-")[0] === ray);
  return found?.logs.flatMap(({ message }) => message).filter((line) => typeof line === "string");
}

/** Returns the origin that the line of a request states for an archive: `hit`, `miss` and so on; `undefined` if the cache was not asked. */
export const cacheIn = (lines) => lines.map((line) => /^\{.*"cache":"(\w+)"/.exec(line)?.[1]).find(Boolean);
