// CHANGELOG.md, in the format of Keep a Changelog.

const UNRELEASED = "## [Unreleased]";

/** Returns the text with the unreleased changes as the section of a version, below a new, empty section. */
export function released(text, version, date) {
  if (sectionOf(text, version) !== null) throw new Error(`CHANGELOG.md already has a section ${version}`);
  const changes = section(text, UNRELEASED);
  if (changes === null) throw new Error(`CHANGELOG.md has no section ${UNRELEASED}`);
  if (changes === "") throw new Error(`CHANGELOG.md names no unreleased changes: describe in ${UNRELEASED} what users notice`);
  return text.replace(UNRELEASED, `${UNRELEASED}\n\n## [${version}] - ${date}`);
}

/** Returns the changes of a version: the notes of its release. `null` if there is no such section. */
export const sectionOf = (text, version) => section(text, `## [${version}] - `);

function section(text, heading) {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line === heading || (heading.endsWith(" ") && line.startsWith(heading)));
  if (start === -1) return null;
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => line.startsWith("## "));
  return rest.slice(0, end === -1 ? undefined : end).join("\n").trim();
}
