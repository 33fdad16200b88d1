// The licences of npm packages that are bundled into a file.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { root } from "./paths.mjs";

/** The licences that allow a bundle to be published under Apache-2.0, with nothing but their texts. */
const ALLOWED = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"];

/** Returns the texts of the licences of the packages that these files belong to; rejects if one may not be bundled. */
export async function licencesOf(files) {
  const directories = new Set(files.map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]).filter(Boolean));
  const texts = await Promise.all([...directories].sort().map(licenceOf));
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

async function licenceOf(directory) {
  const { name, version, license } = JSON.parse(await readFile(join(root, directory, "package.json"), "utf8"));
  if (!ALLOWED.includes(license)) throw new Error(`${name} has the licence ${license}, which is none of ${ALLOWED.join(", ")}: it may not be bundled`);
  const file = (await readdir(join(root, directory))).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file ? await readFile(join(root, directory, file), "utf8") : `Published under ${license}, without the text of the licence.\n`;
  return `${name} ${version} (${license})\n\n${text.trim()}\n`;
}
