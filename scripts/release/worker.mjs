// `node scripts/release/worker.mjs NAME [--pack]`: builds the Worker as it is released, and writes the digests of its files into
// dist/NAME.digests. Two machines that build one commit write the same digests. `--pack` adds the packages of npm and the folder
// to deploy, with the licences of everything in them.
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { buildWorker } from "../build.mjs";
import { Cleanup, temporaryDirectory } from "../lib/cleanup.mjs";
import { isMain, root } from "../lib/paths.mjs";
import { run } from "../lib/run.mjs";
import { sha256 } from "../lib/sha256.mjs";
import { main, say, step } from "../lib/step.mjs";
import { setup } from "../setup.mjs";
import { LICENCES_FILE, licencesOf } from "./licences.mjs";
import { releaseFlags } from "./rust-flags.mjs";

const TARGET = "wasm32-unknown-unknown";
const FILES = ["build/index.js", "build/wasm.js", "build/index_bg.wasm"];

/** Returns the digests of the built files, in the format of sha256sum. */
async function digests() {
  const lines = await Promise.all(FILES.map(async (file) => `${sha256(await readFile(join(root, file)))}  ${file}\n`));
  return lines.join("");
}

/** Packs the Worker that is built, and puts the archives into `directory`. */
async function pack(directory) {
  const cleanup = new Cleanup();
  const temporary = temporaryDirectory(cleanup);
  try {
    const [licences, out] = [join(temporary, LICENCES_FILE), join(temporary, "packed")];
    await writeFile(licences, await licencesOf("worker"));
    const args = [join("scripts", "pack.mjs"), "--out", out, "--worker", join(root, "build"), "--licences", licences];
    await step("packing the Worker", (log) => run(process.execPath, args, { log }));
    for (const name of (await readdir(out)).filter((found) => /\.(tgz|tar\.gz)$/.test(found))) {
      await copyFile(join(out, name), join(directory, name));
      say(`dist/${name}`);
    }
  } finally {
    await cleanup.run();
  }
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
    const text = await digests();
    await writeFile(join(directory, `${name}.digests`), text);
    say(text.trimEnd());
    if (values.pack) await pack(directory);
  });
}
