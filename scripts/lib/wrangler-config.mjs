// Configurations of wrangler, read as wrangler reads them: TOML and JSON with comments.
import { nodeForWrangler } from "./npm.mjs";
import { npmFile } from "./paths.mjs";
import { run } from "./run.mjs";

/** Returns the contents of the file. wrangler runs in a process of its own, because it handles signals. */
export async function readConfig(file) {
  const script = `
    const { experimental_readRawConfig } = require(${JSON.stringify(npmFile("wrangler"))});
    const { rawConfig } = experimental_readRawConfig({ config: process.argv[1] });
    console.log("\\n" + JSON.stringify(rawConfig));`;
  const { stdout } = await run(nodeForWrangler(), ["-e", script, file]);
  return JSON.parse(stdout.trimEnd().split("\n").at(-1));
}
