// `node scripts/release/licences.mjs worker|command [--target TARGET] [--out FILE]`: writes the licences of all crates that are
// compiled into a program: THIRD-PARTY-LICENSES.md, a part of every artefact. Their texts are those in the crates' packages.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { isMain, root } from "../lib/paths.mjs";
import { main, say } from "../lib/step.mjs";
import { dependenciesOf, PROGRAMS } from "./dependencies.mjs";
import { allowedLicences, isAllowed, normalized } from "./expressions.mjs";

export const LICENCES_FILE = "THIRD-PARTY-LICENSES.md";

/** Returns the document about the program `name` of PROGRAMS, for these targets or all of its own. */
export async function licencesOf(name, targets = PROGRAMS[name].targets) {
  const { title, crate } = PROGRAMS[name];
  const { crates } = await dependenciesOf({ crate, targets });
  const others = crates.filter(({ isOwn }) => !isOwn);
  const problems = refusedBy(allowedLicences(await readFile(join(root, "deny.toml"), "utf8")), others);
  if (problems.length > 0) throw new Error(`deny.toml does not allow a licence of these crates: ${problems.join(", ")}`);
  const parts = await Promise.all(others.map(async (found) => ({ ...found, texts: await textsOf(found) })));
  return rendered(title, targets, [...parts, ...(await ofTheCompiler(targets))]);
}

/** Returns the crates, with their licences, for which no allowed combination of licences exists. */
export function refusedBy({ everywhere, exceptions }, crates) {
  const isRefused = ({ name, license }) => !license || !isAllowed(license, [...everywhere, ...(exceptions[name] ?? [])]);
  return crates.filter(isRefused).map(({ id, license }) => `${id} (${license ?? "it names none"})`);
}

const LICENCE_FILE = /^(licen[cs]e|copying|unlicense|notice|copyright)/i;

async function textsOf(crate) {
  const names = (await readdir(crate.directory)).filter((name) => LICENCE_FILE.test(name)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(crate.directory, name), "utf8")));
  return texts.length > 0 ? texts : [await standardText(crate)];
}

/** Returns the text of a licence whose crate is published without it. */
async function standardText({ id, license, authors }) {
  const owner = authors.length > 0 ? authors.map((author) => author.replace(/ *<.*>/, "")).join(", ") : `the authors of ${id}`;
  if (isAllowed(license, ["MIT"])) return mit(`Copyright (c) ${owner}`);
  if (isAllowed(license, ["Apache-2.0"])) return readFile(join(root, "LICENSE"), "utf8");
  throw new Error(`${id} is published without the text of its licence, ${license}: add it to scripts/release/licences.mjs`);
}

/** Returns the libraries that the compiler adds: Rust's own, and on Linux the C library. */
async function ofTheCompiler(targets) {
  const rust = "Copyright (c) The Rust Project Developers";
  const parts = [{ id: "Rust's standard library", license: "MIT OR Apache-2.0", repository: "https://github.com/rust-lang/rust", texts: [mit(rust)] }];
  if (targets.some((target) => target.endsWith("-musl"))) {
    const musl = "Copyright © 2005-2020 Rich Felker, et al.";
    parts.push({ id: "musl", license: "MIT", repository: "https://musl.libc.org", texts: [mit(musl)] });
  }
  return parts;
}

const mit = (copyright) => `${copyright}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software
is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES
OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR
IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`;

/** Returns the document: a table, and then each text once, with all crates that contain it. */
function rendered(title, targets, parts) {
  const users = new Map();
  for (const { id, texts } of parts) {
    for (const text of new Set(texts.map((given) => given.replaceAll("\r\n", "\n").trim()))) {
      users.set(text, [...(users.get(text) ?? []), id]);
    }
  }
  const rows = parts.map(({ id, license, repository }) => `| ${id} | ${normalized(license)} | ${repository ?? ""} |\n`).join("");
  const texts = [...users].map(([text, ids]) => `## ${ids.join(", ")}\n\n${fenced(text)}`);
  return (
    `# Third-party licences\n\nParts of ${title} (${targets.join(", ")}) that other people have written. Terrace itself is ` +
    `licensed under Apache-2.0, in the file LICENSE.\n\n| part | licence | source |\n|---|---|---|\n${rows}\n${texts.join("\n")}`
  );
}

/** Returns a code block that the text cannot end. */
function fenced(text) {
  const longest = Math.max(2, ...[...text.matchAll(/^ *(`+)/gm)].map(([, ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text}\n${fence}\n`;
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const options = { target: { type: "string", multiple: true }, out: { type: "string", default: LICENCES_FILE } };
    const { values, positionals } = parseArgs({ allowPositionals: true, options });
    const [name] = positionals;
    if (!PROGRAMS[name]) throw new Error("usage: node scripts/release/licences.mjs worker|command [--target TARGET] [--out FILE]");
    const text = await licencesOf(name, values.target);
    await writeFile(values.out, text);
    say(`${values.out}: ${Math.round(text.length / 1024)} KiB`);
  });
}
