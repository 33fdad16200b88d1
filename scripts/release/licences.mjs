// The licences of all crates that are compiled into a program: THIRD-PARTY-LICENSES.md, a part of every artefact. Their texts are
// those in the crates' packages. `cargo deny` in CI refuses those that deny.toml does not allow.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { root } from "../lib/paths.mjs";
import { dependenciesOf, PROGRAMS } from "./dependencies.mjs";

export const LICENCES_FILE = "THIRD-PARTY-LICENSES.md";

/** Returns the document about the program `name` of PROGRAMS, for these targets or all of its own. */
export async function licencesOf(name, targets = PROGRAMS[name].targets) {
  const { title, crate } = PROGRAMS[name];
  const { crates } = await dependenciesOf({ crate, targets });
  const others = crates.filter(({ source }) => source !== null);
  const parts = await Promise.all(others.map(async (found) => ({ ...found, texts: await textsOf(found) })));
  return rendered(title, targets, [...parts, ...(await ofTheCompiler(targets))]);
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
  if (/\bMIT\b/.test(license)) return mit(`Copyright (c) ${owner}`);
  if (/\bApache-2\.0\b/.test(license)) return readFile(join(root, "LICENSE"), "utf8");
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
  const rows = parts.map(({ id, license, repository }) => `| ${id} | ${license} | ${repository ?? ""} |\n`).join("");
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
