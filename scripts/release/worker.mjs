// `node scripts/release/worker.mjs NAME [--pack]`: builds the Worker as it is released, and writes the digests of its files into
// dist/NAME.digests. Two machines that build one commit write the same digests. `--pack` adds the packages of npm and the folder
// to deploy, with the licences of everything in them.
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";

import { buildWorker } from "../build.mjs";
import { isMain, root } from "../lib/paths.mjs";
import { sha256 } from "../lib/sha256.mjs";
import { main, say, step } from "../lib/step.mjs";
import { pack } from "../pack.mjs";
import { setup } from "../setup.mjs";
import { licencesOf } from "./licences.mjs";
import { releaseFlags } from "./rust-flags.mjs";

const TARGET = "wasm32-unknown-unknown";
const FILES = ["build/index.js", "build/wasm.js", "build/index_bg.wasm"];

/** Packs the Worker that is built, and puts the archives into `directory`. */
async function addPackages(directory) {
  const out = join(directory, "packed");
  const packed = await step("packing the Worker", async () => pack({ out, licences: await licencesOf("worker") }));
  for (const file of Object.values(packed)) {
    await rename(file, join(directory, basename(file)));
    say(`dist/${basename(file)}`);
  }
  await rm(out, { recursive: true });
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { pack: { type: "boolean", default: false } } });
    const [name] = positionals;
    if (!/^[a-z]+$/.test(name ?? "")) throw new Error("usage: node scripts/release/worker.mjs NAME [--pack]");
    await setup();
    Object.assign(process.env, releaseFlags(TARGET));
    await buildWorker();
    const directory = join(root, "dist");
    await mkdir(directory, { recursive: true });
    const lines = await Promise.all(FILES.map(async (file) => `${sha256(await readFile(join(root, file)))}  ${file}\n`));
    await writeFile(join(directory, `${name}.digests`), lines.join(""));
    say(lines.join("").trimEnd());
    if (values.pack) await addPackages(directory);
  });
}
