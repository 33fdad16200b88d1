// The Worker's entry over another module in place of the wasm.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { root } from "../../../scripts/lib/paths.mjs";

/** Imports the entry and the module with this source from a directory, in Node, which has no modules of the platform. */
export async function importEntry(directory, source) {
  const entry = await readFile(join(root, "src", "platform", "entry.js"), "utf8");
  const files = {
    "index.mjs": entry.replace('"cloudflare:workers"', '"./workers.js"'),
    "workers.js": "export class WorkerEntrypoint {}",
    "wasm.js": source,
    "package.json": '{"type":"module"}',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  const load = (name) => import(pathToFileURL(join(directory, name)).href);
  const [{ default: worker }, wasm] = [await load("index.mjs"), await load("wasm.js")];
  return { worker, wasm };
}
