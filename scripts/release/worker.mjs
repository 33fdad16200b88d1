// `node scripts/release/worker.mjs NAME`: builds the Worker as it is released, and writes the digests of its files into
// dist/NAME.digests. Two machines that build one commit write the same digests.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { buildWorker } from "../build.mjs";
import { sha256 } from "../lib/archives.mjs";
import { isMain, root } from "../lib/paths.mjs";
import { main, say } from "../lib/step.mjs";
import { setup } from "../setup.mjs";
import { releaseFlags } from "./rust-flags.mjs";

const TARGET = "wasm32-unknown-unknown";
const FILES = ["build/index.js", "build/wasm.js", "build/index_bg.wasm"];

/** Returns the digests of the built files, in the format of sha256sum. */
async function digests() {
  const lines = await Promise.all(FILES.map(async (file) => `${sha256(await readFile(join(root, file)))}  ${file}\n`));
  return lines.join("");
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const name = process.argv[2];
    if (!/^[a-z]+$/.test(name ?? "")) throw new Error("usage: node scripts/release/worker.mjs NAME");
    await setup();
    Object.assign(process.env, releaseFlags(TARGET));
    await buildWorker();
    const text = await digests();
    await mkdir(join(root, "dist"), { recursive: true });
    await writeFile(join(root, "dist", `${name}.digests`), text);
    say(text.trimEnd());
  });
}
