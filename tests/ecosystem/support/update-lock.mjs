// A program that lets Renovate update `.terraform.lock.hcl` in the working directory, as it does in a branch
// for an update. Without a platform, Renovate creates no branches. Its arguments are the directory of
// Renovate's package, and the dependency with its update, as the lookup reports it.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

const [directory, json] = process.argv.slice(2);
const { updates, ...dep } = JSON.parse(json);

const part = (...path) => import(join(directory, "dist", ...path));
await (await part("logger", "index.js")).init();
(await part("proxy.js")).bootstrap();
const { GlobalConfig } = await part("config", "global.js");
const { globalInitialize, globalFinalize } = await part("workers", "global", "initialize.js");
const { updateArtifacts } = await part("modules", "manager", "terraform", "lockfile", "index.js");

const settings = { platform: "local", baseDir: process.env.RENOVATE_BASE_DIR, ...JSON.parse(process.env.RENOVATE_CONFIG) };
const config = await globalInitialize(settings);
GlobalConfig.set({ ...config, localDir: process.cwd() });
const results = await updateArtifacts({
  packageFileName: "main.tf",
  updatedDeps: [{ ...dep, ...updates[0] }],
  newPackageFileContent: "",
  config: {},
});
await globalFinalize(config);
for (const { file, artifactError } of results ?? [{ artifactError: { stderr: "Renovate returned no update of the lock file" } }]) {
  if (artifactError) throw new Error(artifactError.stderr);
  await writeFile(file.path, file.contents);
}
