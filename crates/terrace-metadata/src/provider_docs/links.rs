//! Links between pages. Authors write them relative to files, relative to pages of the public registry, or in the form
//! of its predecessor (`/docs/providers/aws/r/instance.html`); here all become relative to `docs/{kind}/{name}`.

use std::collections::BTreeSet;

use terrace_core::documentation::DocumentationKind as Kind;

use crate::provider_docs::PageKey;
use crate::provider_docs::layout::{kind_of, link_stem};

/// How far the start of a link's text is searched for, in bytes. An image has an exclamation mark there.
const LABEL_BYTES: usize = 500;

/// The pages that links can lead to.
pub(super) struct Links<'o> {
    provider_type: &'o str,
    pages: BTreeSet<PageKey>,
}

/// The resolution of a target.
enum Target {
    /// The new target.
    Page(String),
    /// A page that does not exist.
    Missing,
    /// Another place.
    Elsewhere,
}

impl<'o> Links<'o> {
    pub(super) fn new(provider_type: &'o str, pages: impl Iterator<Item = PageKey>) -> Self {
        Self {
            provider_type,
            pages: pages.collect(),
        }
    }

    /// Rewrites the links of a page. Returns also the targets that lead to no page, with their lines.
    pub(super) fn rewrite(&self, text: &str, from: &PageKey) -> (String, Vec<(usize, String)>) {
        let mut page = Rewriter {
            links: self,
            from,
            output: String::with_capacity(text.len()),
            missing: Vec::new(),
            line: 0,
        };
        let mut fence: Option<&str> = None;
        for line in text.split_inclusive('\n') {
            page.line += 1;
            let marker = fence_marker(line);
            match (fence, marker) {
                (Some(open), Some(marker)) if marker.starts_with(open) => fence = None,
                (None, Some(marker)) => fence = Some(marker),
                (None, None) => {
                    page.rewrite_line(line);
                    continue;
                }
                (Some(_), _) => {}
            }
            page.output.push_str(line);
        }
        (page.output, page.missing)
    }

    fn resolve(&self, target: &str, from: &PageKey) -> Target {
        let end = target.find(['#', '?']).unwrap_or(target.len());
        let (path, suffix) = target.split_at_checked(end).unwrap_or((target, ""));
        let is_url = path
            .split_once(':')
            .is_some_and(|(scheme, _)| !scheme.contains('/'));
        if path.is_empty() || is_url || path.starts_with("//") {
            return Target::Elsewhere;
        }
        let absolute = path.strip_prefix("/docs/providers/");
        let segments = match absolute {
            Some(rest) => {
                let mut segments = rest.split('/').filter(|segment| !segment.is_empty());
                if segments.next().map(link_stem) != Some(self.provider_type) {
                    return Target::Elsewhere;
                }
                segments.collect()
            }
            None if path.starts_with('/') => return Target::Elsewhere,
            None => match relative(path, from.0) {
                Some(segments) => segments,
                None => return Target::Elsewhere,
            },
        };
        let Some((kind, name)) = self.page(&segments) else {
            return Target::Elsewhere;
        };
        let is_page_file = link_stem(path) != path;
        match self.existing(kind, name) {
            Some(name) => Target::Page(format!("{}{suffix}", from_page(from.0, kind, &name))),
            None if absolute.is_some() || is_page_file => Target::Missing,
            None => Target::Elsewhere,
        }
    }

    /// Returns the kind and the name that the segments of a path refer to.
    fn page<'t>(&self, segments: &[&'t str]) -> Option<(Kind, &'t str)> {
        match segments {
            [] => Some((Kind::Overview, "index")),
            [file] if link_stem(file) == "index" => Some((Kind::Overview, "index")),
            [directory, file] => Some((kind_of(directory)?, link_stem(file))),
            _ => None,
        }
    }

    /// Returns the name of a page, which may have the type of the provider in one of the two places only.
    fn existing(&self, kind: Kind, name: &str) -> Option<String> {
        let prefix = format!("{}_", self.provider_type);
        let short = name.strip_prefix(&prefix).unwrap_or(name);
        let names = [name.to_owned(), short.to_owned(), format!("{prefix}{name}")];
        names.into_iter().find(|name| {
            let name = name.parse();
            name.is_ok_and(|name| self.pages.contains(&(kind, name)))
        })
    }
}

/// Returns the marker of a line that opens or closes a code block.
fn fence_marker(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.len() - text.trim_start_matches(mark).len();
    let marker = text.get(..length)?;
    // A code span may begin a line too.
    let rest = text.get(length..)?;
    (length >= 3 && !(mark == '`' && rest.contains('`'))).then_some(marker)
}

/// Returns the segments of a relative path below the directory of the documentation.
fn relative(path: &str, from: Kind) -> Option<Vec<&str>> {
    let mut segments = match from {
        Kind::Overview => Vec::new(),
        kind => vec![kind.as_str()],
    };
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            other => segments.push(other),
        }
    }
    // On the public registry, the first page is at `…/docs`, so relative links begin with its last segment.
    if from == Kind::Overview && segments.first() == Some(&"docs") {
        segments.remove(0);
    }
    Some(segments)
}

/// Returns the relative path from one page to another.
fn from_page(from: Kind, to: Kind, name: &str) -> String {
    let path = match to {
        Kind::Overview => "overview".to_owned(),
        kind if kind == from => return name.to_owned(),
        kind => format!("{kind}/{name}"),
    };
    match from {
        Kind::Overview => path,
        _ => format!("../{path}"),
    }
}

struct Rewriter<'l, 'o> {
    links: &'l Links<'o>,
    from: &'l PageKey,
    output: String,
    missing: Vec<(usize, String)>,
    line: usize,
}

impl Rewriter<'_, '_> {
    fn rewrite_line(&mut self, line: &str) {
        let mut rest = self.definition(line);
        while let Some(at) = rest.find(['`', ']', 'h']) {
            let (before, found) = rest.split_at_checked(at).unwrap_or((rest, ""));
            self.output.push_str(before);
            rest = if found.starts_with('`') {
                self.code_span(found)
            } else if let Some(target) = found.strip_prefix("](") {
                let is_image = is_image(&self.output);
                self.output.push_str("](");
                self.target(target, &[')', ' ', '\n', '\r', '\t'], is_image)
            } else if let Some(target) = found.strip_prefix("href=\"") {
                self.output.push_str("href=\"");
                self.target(target, &['"', '\n'], false)
            } else {
                let (first, rest) = found.split_at_checked(1).unwrap_or((found, ""));
                self.output.push_str(first);
                rest
            };
        }
        self.output.push_str(rest);
    }

    /// Writes the start of a definition such as `[label]: target`, and returns the rest of the line.
    fn definition<'t>(&mut self, line: &'t str) -> &'t str {
        let text = line.trim_start();
        let Some((label, target)) = text.strip_prefix('[').and_then(|it| it.split_once("]:"))
        else {
            return line;
        };
        // A footnote is not a link.
        if label.starts_with('^') || label.contains(['[', ']']) {
            return line;
        }
        let target = target.trim_start_matches([' ', '\t']);
        let (start, target) = line
            .split_at_checked(line.len() - target.len())
            .unwrap_or((line, ""));
        self.output.push_str(start);
        self.target(target, &[' ', '\n', '\r', '\t'], false)
    }

    /// Writes a code span that is closed on its line, or the backticks.
    fn code_span<'t>(&mut self, text: &'t str) -> &'t str {
        let length = text.len() - text.trim_start_matches('`').len();
        let (ticks, inside) = text.split_at_checked(length).unwrap_or((text, ""));
        let end = match inside.find(ticks) {
            Some(at) => length + at + length,
            None => length,
        };
        let (span, rest) = text.split_at_checked(end).unwrap_or((text, ""));
        self.output.push_str(span);
        rest
    }

    /// Writes the target of a link, which ends before one of these characters. Returns the text after it.
    fn target<'t>(&mut self, text: &'t str, ends: &[char], is_image: bool) -> &'t str {
        let bracketed = text
            .strip_prefix('<')
            .and_then(|inside| inside.split_once('>'));
        let (target, rest) = match bracketed {
            Some((target, rest)) => (target, rest),
            None => {
                let end = text.find(ends).unwrap_or(text.len());
                text.split_at_checked(end).unwrap_or((text, ""))
            }
        };
        let resolved = match is_image {
            true => Target::Elsewhere,
            false => self.links.resolve(target, self.from),
        };
        match (resolved, bracketed) {
            (Target::Page(page), _) => self.output.push_str(&page),
            (Target::Missing, _) => {
                self.missing.push((self.line, target.to_owned()));
                self.output.push_str(target);
            }
            (Target::Elsewhere, Some(_)) => {
                self.output.extend(["<", target, ">"]);
            }
            (Target::Elsewhere, None) => self.output.push_str(target),
        }
        rest
    }
}

/// Returns whether the text ends with `![` and a label.
fn is_image(text: &str) -> bool {
    let start = text.len().saturating_sub(LABEL_BYTES);
    let label = text.get(text.ceil_char_boundary(start)..).unwrap_or(text);
    let mut depth = 0_usize;
    for (at, c) in label.char_indices().rev() {
        match c {
            ']' => depth += 1,
            '[' if depth == 0 => {
                return label.get(..at).is_some_and(|before| before.ends_with('!'));
            }
            '[' => depth -= 1,
            '\n' => return false,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(kind: Kind, name: &str) -> PageKey {
        (kind, name.parse().unwrap())
    }

    fn links() -> Links<'static> {
        let pages = [
            key(Kind::Overview, "index"),
            key(Kind::Guide, "start"),
            key(Kind::Resource, "repository"),
            key(Kind::Resource, "team"),
            key(Kind::DataSource, "github_user"),
            key(Kind::Function, "parse"),
        ];
        Links::new("github", pages.into_iter())
    }

    fn rewritten(from: PageKey, text: &str) -> String {
        links().rewrite(text, &from).0
    }

    #[track_caller]
    fn resource(target: &str, expected: &str) {
        let from = key(Kind::Resource, "repository");
        assert_eq!(
            rewritten(from, &format!("see [x]({target}).")),
            format!("see [x]({expected}).")
        );
    }

    #[test]
    fn links_in_the_form_of_the_predecessor_become_relative() {
        resource("/docs/providers/github/index.html", "../overview");
        resource("/docs/providers/github", "../overview");
        resource("/docs/providers/github/r/team.html", "team");
        resource(
            "/docs/providers/github/r/github_team.html#import",
            "team#import",
        );
        resource(
            "/docs/providers/github/d/user.html.markdown",
            "../data-sources/github_user",
        );
        resource("/docs/providers/github/guides/start", "../guides/start");
        resource("/docs/providers/github/f/parse.html", "../functions/parse");
        resource(
            "/docs/providers/github/r/gone.html",
            "/docs/providers/github/r/gone.html",
        );
        resource(
            "/docs/providers/aws/r/instance.html",
            "/docs/providers/aws/r/instance.html",
        );
    }

    #[test]
    fn links_relative_to_files_lose_their_extension() {
        resource("team.md", "team");
        resource("./team.html#a", "team#a");
        resource(
            "../data-sources/github_user.md \"Title\"",
            "../data-sources/github_user \"Title\"",
        );
        resource("../d/user.html", "../data-sources/github_user");
        resource("../index.md", "../overview");
        resource("<../r/team.html>", "team");
        for other in [
            "#import",
            "https://x.y/team.md",
            "mailto:a@b",
            "//x/team.md",
            "team.png",
            "../../README.md",
            "other",
        ] {
            resource(other, other);
        }
    }

    #[test]
    fn links_of_the_first_page_are_relative_to_its_directory() {
        let from = key(Kind::Overview, "index");
        for target in ["resources/team.md", "docs/resources/team", "./r/team.html"] {
            assert_eq!(
                rewritten(from.clone(), &format!("[x]({target})")),
                "[x](resources/team)"
            );
        }
        assert_eq!(rewritten(from, "[x](index.md#a)"), "[x](overview#a)");
    }

    #[test]
    fn definitions_and_html_are_links_too() {
        resource("x) and [y](team.md", "x) and [y](team");
        let from = key(Kind::Resource, "repository");
        assert_eq!(
            rewritten(
                from,
                "[x]: ../d/user.html 'T'\n<a href=\"/docs/providers/github/r/team.html\">[t](team.md)</a>\n"
            ),
            "[x]: ../data-sources/github_user 'T'\n<a href=\"team\">[t](team)</a>\n"
        );
    }

    #[test]
    fn code_and_images_stay() {
        for text in [
            "`[x](team.md)`",
            "``[x](team.md) ` ``",
            "```hcl\n[x](team.md)\n```\n",
            "~~~\n[x](team.md)\n```\n[x](team.md)\n~~~\n",
            "![x](team.md)",
            "![a [b] c](team.md)",
        ] {
            assert_eq!(rewritten(key(Kind::Resource, "repository"), text), text);
        }
        let after = "```\n```\n`[x](team.md) and [x](team.md)";
        assert!(rewritten(key(Kind::Resource, "repository"), after).ends_with("and [x](team)"));
    }

    #[test]
    fn missing_pages_are_reported_with_their_lines() {
        let text = "a\n[x](gone.md) [y](../r/team.html)\n[z](/docs/providers/github/d/none.html)";
        let (_, missing) = links().rewrite(text, &key(Kind::Resource, "team"));
        assert_eq!(
            missing,
            [
                (2, "gone.md".to_owned()),
                (3, "/docs/providers/github/d/none.html".to_owned())
            ]
        );
    }

    proptest! {
        #[test]
        fn a_text_without_pages_stays(text in r#"(\[|\]|\(|\)|`|~~~|!|<|>|href="|\n| |\.\./|team|:|é|#){0,60}"#) {
            let none = Links::new("github", std::iter::empty());
            let (output, _) = none.rewrite(&text, &key(Kind::Resource, "a"));
            prop_assert_eq!(output, text);
        }
    }
}
