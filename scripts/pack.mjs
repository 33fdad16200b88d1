// `npm run pack`: the npm packages and the folder that people deploy, in dist/. Two runs write the same bytes.
import { createHash } from "node:crypto";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";

import { buildWorker } from "./build.mjs";
import { licencesOf } from "./lib/licences.mjs";
import { lockToDeploy, REGISTRY } from "./lib/lock-file.mjs";
import { npm } from "./lib/npm.mjs";
import { isMain, root } from "./lib/paths.mjs";
import { requirements } from "./lib/requirements.mjs";
import { main, say } from "./lib/step.mjs";
import { tar } from "./lib/tar.mjs";
import { setup } from "./setup.mjs";

/** The files of a built Worker. */
const WORKER = ["index.js", "wasm.js", "index_bg.wasm"];

/** The files of deploy/. Others, which installing and running it leaves there, may be secrets. */
export const DEPLOYED = [".dev.vars.example", ".gitignore", "README.md", "check.mjs", "package-lock.json", "package.json", "src/index.js", "wrangler.jsonc"];

/** The time that npm gives to all files of a package, in seconds. */
const TIME = 499_162_500;

/**
 * Writes the packages into `out`, which is replaced; returns the names of the files, by kind.
 *
 * - `licences`: the text about the licences of the crates in the Worker.
 */
export async function pack({ out, licences }) {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const needs = await requirements();
  const registry = await packed(out, "worker", (directory) => fillRegistry(directory, { needs, licences }));
  const attempt = await packed(out, "try", () => {});
  await layOutDeploy(join(out, "deploy"), { integrity: await integrityOf(registry) });
  const folder = await vendored(out, registry, needs.version);
  const files = [registry, attempt, folder];
  await writeFile(join(out, "SHA256SUMS"), (await Promise.all(files.map(sumOf))).join(""));
  return { registry, attempt, folder };
}

/** Packs a folder of packages/, to which `fill` adds files; returns the path of the tarball. */
async function packed(out, folder, fill) {
  const directory = join(out, "packages", folder);
  const source = join(root, "packages", folder);
  const { files } = JSON.parse(await readFile(join(source, "package.json"), "utf8"));
  await mkdir(directory, { recursive: true });
  for (const name of ["package.json", "README.md", ...files]) await copyIfThere(join(source, name), join(directory, name));
  await cp(join(root, "LICENSE"), join(directory, "LICENSE"));
  await fill(directory);
  const { stdout } = await npm(["pack", "--ignore-scripts", "--json", "--pack-destination", out], { cwd: directory });
  return join(out, JSON.parse(stdout)[0].filename);
}

/** Other files are added, or left out, by `fill`. */
const copyIfThere = (from, to) => cp(from, to).catch((error) => error.code === "ENOENT" || Promise.reject(error));

async function fillRegistry(directory, { needs, licences }) {
  for (const name of WORKER) await cp(join(root, "build", name), join(directory, name));
  await writeFile(join(directory, "requirements.json"), `${JSON.stringify(needs, null, 2)}\n`);
  if (licences) await writeFile(join(directory, "THIRD-PARTY.txt"), licences);
  await fillStart(join(directory, "start"));
}

/** Bundles the starter, and adds the example that it publishes. */
async function fillStart(directory) {
  // Imported on demand, because npm packages may not be installed earlier.
  const { build } = await import("esbuild");
  const { bundleProvider } = await import("../examples/packaging/bundle.mjs");
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(root, "packages", "worker", "start.mjs")],
    outfile: join(directory, "start.mjs"),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node22",
    plugins: [ownPaths],
    metafile: true,
    logLevel: "warning",
  });
  const provider = await bundleProvider();
  await writeFile(join(directory, "provider.cjs"), provider.text);
  await writeFile(join(directory, "THIRD-PARTY.txt"), await licencesOf([...Object.keys(metafile.inputs), ...provider.inputs]));
  await cp(join(root, "packages", "worker", "bin.mjs"), join(directory, "bin.mjs"));
  await cp(join(root, "scripts", "lib", "end-with-parent.mjs"), join(directory, "end-with-parent.mjs"));
  await cp(join(root, "examples", "module"), join(directory, "module"), { recursive: true });
  await cp(join(root, "examples", "provider", "docs"), join(directory, "docs"), { recursive: true });
  await cp(join(root, "examples", "consumer", "main.tf"), join(directory, "main.tf"));
}

/** Replaces the paths of the checkout by those of the package. */
const ownPaths = {
  name: "own-paths",
  setup({ onResolve }) {
    onResolve({ filter: /\/paths\.mjs$/ }, () => ({ path: join(root, "packages", "worker", "paths.mjs") }));
  },
};

/** Returns the digest of a file, as lock files have it. */
export const integrityOf = async (file) => `sha512-${createHash("sha512").update(await readFile(file)).digest("base64")}`;

/** Writes the folder to deploy, with a lock file; the package of the registry is `specifier` in it, by default a version. */
async function layOutDeploy(directory, { specifier, ...entry }) {
  await mkdir(directory, { recursive: true });
  for (const name of DEPLOYED) await cp(join(root, "deploy", name), join(directory, name));
  await cp(join(root, "LICENSE"), join(directory, "LICENSE"));
  const own = JSON.parse(await readFile(join(root, "deploy", "package.json"), "utf8"));
  if (specifier) own.dependencies[REGISTRY] = specifier;
  await writeFile(join(directory, "package.json"), `${JSON.stringify(own, null, 2)}\n`);
  await writeFile(join(directory, "package-lock.json"), `${JSON.stringify(await lockToDeploy(own, entry), null, 2)}\n`);
}

/** Writes the archive for people without a git host: the folder, with the package of the registry in it. */
async function vendored(out, tarball, version) {
  const name = basename(tarball);
  const directory = join(out, "folder");
  await layOutDeploy(directory, { specifier: `file:${name}`, resolved: `file:${name}`, integrity: await integrityOf(tarball) });
  await cp(tarball, join(directory, name));
  const stem = `terrace-worker-${version}`;
  const files = {};
  for (const path of [...DEPLOYED, "LICENSE", name].sort()) files[`${stem}/${path}`] = await readFile(join(directory, path));
  const file = join(out, `${stem}.tar.gz`);
  await writeFile(file, gzipSync(tar(files, { time: TIME }), { level: 9 }));
  await rm(directory, { recursive: true });
  return file;
}

const sumOf = async (file) => `${createHash("sha256").update(await readFile(file)).digest("hex")}  ${basename(file)}\n`;

if (isMain(import.meta.url)) {
  await main(async () => {
    await setup();
    await buildWorker();
    const out = join(root, "dist");
    await pack({ out });
    say(await readFile(join(out, "SHA256SUMS"), "utf8"));
  });
}
