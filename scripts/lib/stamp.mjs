// Skips work if its inputs have not changed since its outputs were created.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { root, stateDir } from "./paths.mjs";

/**
 * Runs `work` unless the files in `inputs` and `outputs` are unchanged since the last run. They are paths
 * from the checkout's root; a directory stands for all files in it.
 */
export async function unlessCurrent(name, { inputs, outputs, also = "" }, work) {
  const stampFile = join(stateDir, "stamps", name);
  const before = await digest(inputs, also);
  const last = await readFile(stampFile, "utf8").catch(() => "");
  if (last === `${before} ${await digest(outputs)}`) return;
  await work();
  await mkdir(dirname(stampFile), { recursive: true });
  await writeFile(stampFile, `${before} ${await digest(outputs)}`);
}

async function digest(paths, also = "") {
  const hash = createHash("sha256").update(also);
  for (const path of paths) {
    for (const file of (await filesUnder(path)).sort()) {
      hash.update(`\0${file}\0`).update(await readFile(join(root, file)));
    }
  }
  return hash.digest("hex");
}

/** Returns `path` itself if it is a file, all files in it if it is a directory, and none if it does not exist. */
async function filesUnder(path) {
  const found = await stat(join(root, path)).catch(() => null);
  if (found === null) return [];
  if (!found.isDirectory()) return [path];
  const names = await readdir(join(root, path));
  return (await Promise.all(names.map((name) => filesUnder(join(path, name))))).flat();
}
