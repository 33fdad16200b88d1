// Bundles the example provider.
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const ENTRY = fileURLToPath(new URL("../provider/main.mjs", import.meta.url));

/**
 * Returns the provider and all its imports as one script, to be put below the header of `programFor`, and `inputs`, the
 * files that it was made of, from the root of the checkout.
 */
export async function bundleProvider() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [ENTRY],
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    minify: true,
    loader: { ".proto": "text" },
    metafile: true,
    write: false,
    logLevel: "warning",
  });
  return { text: outputFiles[0].text, inputs: Object.keys(metafile.inputs) };
}
