//! Links between pages that lead to none. Authors write them relative to files, relative to pages of the public registry, or in
//! the form of its predecessor (`/docs/providers/aws/r/instance.html`); readers of the pages resolve all of them.

use std::collections::BTreeSet;

use pulldown_cmark::{CowStr, Event, Parser, Tag};
use terrace_core::documentation::DocumentationKind as Kind;

use crate::provider_docs::PageKey;
use crate::provider_docs::layout::{kind_of, link_stem};
use crate::text::Lines;

/// The pages that links can lead to.
pub(super) struct Links<'o> {
    provider_type: &'o str,
    pages: BTreeSet<PageKey>,
}

impl<'o> Links<'o> {
    pub(super) fn new(provider_type: &'o str, pages: impl Iterator<Item = PageKey>) -> Self {
        Self {
            provider_type,
            pages: pages.collect(),
        }
    }

    /// Returns the targets in a page of this kind that lead to no page, with their lines.
    pub(super) fn missing<'t>(&self, text: &'t str, from: Kind) -> Vec<(usize, CowStr<'t>)> {
        let lines = Lines::of(text);
        let events = Parser::new(text).into_offset_iter();
        let targets = events.filter_map(|(event, range)| match event {
            Event::Start(Tag::Link { dest_url, .. }) => Some((lines.at(range.start), dest_url)),
            _ => None,
        });
        targets
            .filter(|(_, target)| self.is_missing(target, from))
            .collect()
    }

    /// Returns whether a target has the form of a page of this provider that does not exist.
    fn is_missing(&self, target: &str, from: Kind) -> bool {
        let path = target.split(['#', '?']).next().unwrap_or_default();
        let scheme = path.split_once(':');
        let is_url = scheme.is_some_and(|(scheme, _)| !scheme.contains('/'));
        if path.is_empty() || is_url {
            return false;
        }
        let absolute = path.strip_prefix("/docs/providers/");
        let segments = match absolute {
            Some(rest) => {
                let mut segments = rest.split('/').filter(|segment| !segment.is_empty());
                let provider = segments.next().map(link_stem);
                (provider == Some(self.provider_type)).then(|| segments.collect())
            }
            None if path.starts_with('/') => None,
            None => relative(path, from),
        };
        let is_page_file = link_stem(path) != path;
        let page = segments.and_then(|segments| page(&segments));
        page.is_some_and(|(kind, name)| {
            (absolute.is_some() || is_page_file) && !self.exists(kind, name)
        })
    }

    /// Returns whether there is a page. Its name may have the type of the provider in one of the two places only.
    fn exists(&self, kind: Kind, name: &str) -> bool {
        let prefix = format!("{}_", self.provider_type);
        let short = name.strip_prefix(&prefix).unwrap_or(name);
        let names = [name.to_owned(), short.to_owned(), format!("{prefix}{name}")];
        names.into_iter().any(|name| {
            let name = name.parse();
            name.is_ok_and(|name| self.pages.contains(&(kind, name)))
        })
    }
}

/// Returns the kind and the name that the segments of a path refer to.
fn page<'t>(segments: &[&'t str]) -> Option<(Kind, &'t str)> {
    match segments {
        [] => Some((Kind::Overview, "index")),
        [file] if link_stem(file) == "index" => Some((Kind::Overview, "index")),
        [directory, file] => Some((kind_of(directory)?, link_stem(file))),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(from: Kind, text: &str) -> Vec<(usize, String)> {
        let pages = [
            (Kind::Overview, "index"),
            (Kind::Guide, "start"),
            (Kind::Resource, "repository"),
            (Kind::Resource, "team"),
            (Kind::DataSource, "github_user"),
            (Kind::Function, "parse"),
        ];
        let pages = pages.map(|(kind, name)| (kind, name.parse().unwrap()));
        let links = Links::new("github", pages.into_iter());
        let missing = links.missing(text, from).into_iter();
        missing.map(|(line, it)| (line, it.to_string())).collect()
    }

    #[test]
    fn links_in_every_form_are_found() {
        for target in [
            "gone.md",
            "./gone.html#a",
            "../r/gone.html",
            "../data-sources/gone.md",
            "/docs/providers/github/r/gone.html",
            "/docs/providers/github/d/gone",
        ] {
            for text in [
                format!("a\nsee [x]({target})."),
                format!("\n[a](team.md) and [x](<{target}>)"),
                format!("\n[x]({target} \"Title\")"),
                format!("\n[x]\n\n[x]: {target} 'T'"),
            ] {
                let found = missing(Kind::Resource, &text);
                assert_eq!(found, [(2, target.to_owned())], "{text}");
            }
        }
    }

    #[test]
    fn links_to_pages_and_to_other_places_are_not_missing() {
        for target in [
            "/docs/providers/github/index.html",
            "/docs/providers/github",
            "/docs/providers/github/r/github_team.html#import",
            "/docs/providers/github/d/user.html.markdown",
            "/docs/providers/github/f/parse.html",
            "/docs/providers/aws/r/instance.html",
            "team.md",
            "../d/user.html",
            "../index.md",
            "#import",
            "https://x.y/gone.md",
            "mailto:a@b.md",
            "//x/gone.md",
            "gone.png",
            "../../README.md",
            "gone",
        ] {
            let text = format!("[x]({target})");
            assert_eq!(missing(Kind::Resource, &text), [], "{target}");
        }
        for target in [
            "resources/team.md",
            "docs/resources/team.md",
            "./r/team.html",
        ] {
            let text = format!("[x]({target})");
            assert_eq!(missing(Kind::Overview, &text), [], "{target}");
        }
    }

    #[test]
    fn code_and_images_have_no_links() {
        for text in [
            "`[x](gone.md)`",
            "```hcl\n[x](gone.md)\n```\n",
            "![x](gone.md)",
        ] {
            assert_eq!(missing(Kind::Resource, text), [], "{text}");
        }
    }
}
