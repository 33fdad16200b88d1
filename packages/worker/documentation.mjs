// The documentation of the examples, in the form that the admin API receives. `terrace publish` extracts that of any package;
// this knows no more than the files of the examples need.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/** Returns the documentation of a module in a directory: README texts, inputs and outputs, also of its submodules. */
export async function moduleDocumentation(release, directory) {
  const names = await readdir(join(directory, "modules"));
  const submodules = await Promise.all(names.sort().map(async (name) => ({ name, part: await modulePart(join(directory, "modules", name)) })));
  return documentation(release, { module: { root: await modulePart(directory), submodules } }, []);
}

async function modulePart(directory) {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".tf"));
  const sources = (await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")))).join("\n");
  const described = (kind) => blocks(sources, kind).sort((a, b) => (a.name < b.name ? -1 : 1));
  return { readme: await readFile(join(directory, "README.md"), "utf8"), inputs: described("variable"), outputs: described("output") };
}

/** Returns the blocks of a kind, of which each argument is one line. */
function blocks(source, kind) {
  const found = source.matchAll(new RegExp(`^${kind} "(.+)" \\{\\n([^]*?)^\\}`, "gm"));
  return Array.from(found, ([, name, body]) => {
    const argument = (key) => new RegExp(`^  ${key} += (.+)$`, "m").exec(body)?.[1];
    return { name, description: JSON.parse(argument("description")), ...(kind === "variable" && { type: argument("type"), default: argument("default") }) };
  });
}

/** Returns the documentation of a provider in the layout of `tfplugindocs`: the first page, and those of data sources. */
export async function providerDocumentation(release, directory) {
  const files = [["overview", "index", "index.md"]];
  for (const file of (await readdir(join(directory, "data-sources"))).sort()) files.push(["data-sources", file.replace(/\.md$/, ""), join("data-sources", file)]);
  const [pages, members] = [[], []];
  let offset = 0;
  for (const [kind, name, file] of files) {
    const [, frontmatter, text] = /^---\n([^]*?)\n---\n\n?([^]*)$/.exec(await readFile(join(directory, file), "utf8"));
    const member = gzipSync(text);
    const title = /^page_title: "(.+)"$/m.exec(frontmatter)[1];
    const description = /^description: \|-\n {2}(.+)$/m.exec(frontmatter)[1];
    pages.push({ kind, name, title, description, member: { offset, length: member.length, size: Buffer.byteLength(text) } });
    members.push(member);
    offset += member.length;
  }
  const type = release.path.split("/").at(-2);
  const symbols = pages.slice(1).map(({ kind, name }) => ({ kind, name: `${type}_${name}`, page: name }));
  return documentation(release, { provider: { pages, symbols } }, members);
}

function documentation({ path }, contents, members) {
  const head = gzipSync(JSON.stringify({ schema: 1, contents }));
  const archive = Buffer.concat([head, ...members]);
  const sha256 = createHash("sha256").update(archive).digest("hex");
  return { path: `${path}/documentation`, body: { sha256, size: archive.length, head_length: head.length }, archives: new Map([[sha256, archive]]) };
}
