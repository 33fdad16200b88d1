//! The meaning of links in the documentation of providers and in the READMEs of modules.

use std::borrow::Cow;

use terrace_base::percent::{self, Plus, encode_segments};
use terrace_core::documentation::{DocumentationKind, PageName};
use terrace_core::model::address::ProviderAddress;

use super::{Links, Repository, TargetKind};
use crate::links::joined;

/// The hosts whose pages of the same provider are this registry's own.
const REGISTRIES: [&str; 5] = [
    "registry.terraform.io",
    "registry.opentofu.org",
    "search.opentofu.org",
    "www.terraform.io",
    "terraform.io",
];

/// The extensions of pages in links. A longer one comes before its end.
const EXTENSIONS: [&str; 5] = [".html.markdown", ".html.md", ".markdown", ".html", ".md"];

/// Links of a page of a provider's documentation.
///
/// Links to pages of the same provider lead to this registry, whether they are relative to the file, to the page, in the form
/// of the registry's predecessor (`/docs/providers/aws/r/instance.html`) or URLs of a public registry.
#[derive(Clone, Copy)]
pub struct DocumentationLinks<'l> {
    /// The path of the overview, such as `/providers/acme/widget/1.2.0/docs`. Other pages are below it.
    pub root: &'l str,
    /// The provider.
    pub provider: &'l ProviderAddress,
    /// The kind of the page with the links.
    pub from: DocumentationKind,
    /// Returns whether a page exists.
    pub has_page: &'l dyn Fn(DocumentationKind, &PageName) -> bool,
}

/// Links of a README of a module.
///
/// Links to submodules and examples lead to their pages, others to the repository.
#[derive(Clone, Copy)]
pub struct ModuleLinks<'l> {
    /// The path of the version's page, such as `/modules/acme/vpc/aws/1.2.0`.
    pub root: &'l str,
    /// The directory of the README within the module, such as `modules/subnet`; empty for the root.
    pub directory: &'l str,
    /// Returns whether a directory, such as `examples/simple`, has a page.
    pub has_part: &'l dyn Fn(&str) -> bool,
    /// Returns whether the documentation has an image of the package.
    pub has_image: &'l dyn Fn(&str) -> bool,
    /// The repository with the module's code, if known.
    pub repository: Option<&'l Repository>,
}

impl Links for DocumentationLinks<'_> {
    fn resolve(&self, target: &str, kind: TargetKind) -> Option<String> {
        if kind == TargetKind::Image {
            return None;
        }
        let (path, suffix) = split_suffix(target);
        if let Some((host, path)) = host_and_path(path) {
            let is_registry = REGISTRIES
                .iter()
                .any(|known| host.eq_ignore_ascii_case(known));
            let page = is_registry.then(|| self.absolute(path))??;
            return Some(format!("{page}{suffix}"));
        }
        let page = match path.strip_prefix('/') {
            Some(path) => self.absolute(path),
            None => self.relative(path),
        };
        match page {
            Some(page) => Some(format!("{page}{suffix}")),
            // Elsewhere on the site that the documentation was written for.
            None if path.starts_with("/docs/") => Some(format!("https://www.terraform.io{target}")),
            None if path.starts_with("/providers/") || path.starts_with("/modules/") => {
                Some(format!("https://registry.terraform.io{target}"))
            }
            None => None,
        }
    }
}

impl DocumentationLinks<'_> {
    /// Returns the page at a path of a public registry.
    fn absolute(&self, path: &str) -> Option<String> {
        let segments: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
        let provider = self.provider.provider_type.as_str();
        match segments.as_slice() {
            ["providers" | "provider", namespace, name, rest @ ..]
                if *namespace == self.provider.namespace.as_str() && *name == provider =>
            {
                match rest {
                    [] | [_] => self.page(&[]),
                    [_, "docs", page @ ..] => self.page(page),
                    _ => None,
                }
            }
            ["docs", "providers", name, page @ ..] if stem(name) == provider => self.page(page),
            ["docs", page @ ..] => self.page(page),
            _ => None,
        }
    }

    fn relative(&self, path: &str) -> Option<String> {
        let directory = match self.from {
            DocumentationKind::Overview => "",
            kind => kind.as_str(),
        };
        let segments = joined(directory, path)?;
        match segments.as_slice() {
            // The overview of a public registry is at `…/docs`, so its links begin with that segment.
            ["docs", page @ ..] => self.page(page),
            page => self.page(page),
        }
    }

    /// Returns the path of a page that exists.
    fn page(&self, segments: &[&str]) -> Option<String> {
        match segments {
            [] => Some(self.root.to_owned()),
            [file] if matches!(stem(file), "index" | "overview") => Some(self.root.to_owned()),
            [directory, file] => {
                let kind = kind_of(directory)?;
                let name = self.existing(kind, stem(file))?;
                Some(format!("{}/{kind}/{name}", self.root))
            }
            _ => None,
        }
    }

    /// Returns the name of a page, which may have the type of the provider in one of the two places only.
    fn existing(&self, kind: DocumentationKind, name: &str) -> Option<PageName> {
        let prefix = format!("{}_", self.provider.provider_type);
        let short = name.strip_prefix(&prefix).unwrap_or(name);
        let names = [name.to_owned(), short.to_owned(), format!("{prefix}{name}")];
        let mut names = names.iter().filter_map(|name| name.parse().ok());
        names.find(|name| (self.has_page)(kind, name))
    }
}

impl Links for ModuleLinks<'_> {
    fn resolve(&self, target: &str, kind: TargetKind) -> Option<String> {
        let (path, suffix) = split_suffix(target);
        if host_and_path(path).is_some() {
            return None;
        }
        let path = percent::decoded(path, Plus::Plus).unwrap_or(Cow::Borrowed(path));
        let top = self.repository.map_or("", Repository::directory);
        let directory = format!("{top}/{}", self.directory);
        let segments = match path.strip_prefix('/') {
            Some(path) => joined("", path)?,
            None => joined(&directory, &path)?,
        };
        let top = joined(top, "")?;
        let in_module = segments.strip_prefix(top.as_slice());
        if kind == TargetKind::Link
            && let Some(page) = in_module.and_then(|segments| self.page(segments))
        {
            return Some(format!("{page}{suffix}"));
        }
        if kind == TargetKind::Image
            && let Some(path) = in_module.map(|segments| segments.join("/"))
            && (self.has_image)(&path)
        {
            return Some(format!("{}/files/{}", self.root, encode_segments(&path)));
        }
        let file = self.repository?.file(&segments.join("/"), kind)?;
        // A URL has one query.
        let fragment = suffix.find('#').and_then(|at| suffix.get(at..));
        let suffix = match file.contains('?') {
            true => fragment.unwrap_or_default(),
            false => suffix,
        };
        Some(format!("{file}{suffix}"))
    }
}

impl ModuleLinks<'_> {
    fn page(&self, segments: &[&str]) -> Option<String> {
        let directory = match segments {
            [directory @ .., "README.md"] => directory,
            directory => directory,
        };
        let (kind, name) = match directory {
            [] => return Some(self.root.to_owned()),
            ["modules", name @ ..] => ("submodules", name),
            ["examples", name @ ..] => ("examples", name),
            _ => return None,
        };
        let has_page = (self.has_part)(&directory.join("/"));
        has_page.then(|| format!("{}/{kind}/{}", self.root, encode_segments(&name.join("/"))))
    }
}

/// Splits the query and the fragment off.
fn split_suffix(target: &str) -> (&str, &str) {
    let end = target.find(['?', '#']).unwrap_or(target.len());
    target.split_at_checked(end).unwrap_or((target, ""))
}

/// Splits a URL into host and path; `None` for a relative reference.
fn host_and_path(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let is_web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    is_web.then(|| rest.split_once('/').unwrap_or((rest, "")))
}

/// Returns the name of a page without its extension.
fn stem(name: &str) -> &str {
    let mut stems = EXTENSIONS
        .iter()
        .filter_map(|extension| name.strip_suffix(extension));
    stems.next().unwrap_or(name)
}

/// Returns the kind of the pages in a directory of either layout.
fn kind_of(directory: &str) -> Option<DocumentationKind> {
    match directory {
        "r" => Some(DocumentationKind::Resource),
        "d" | "datasources" => Some(DocumentationKind::DataSource),
        "f" => Some(DocumentationKind::Function),
        "overview" => None,
        directory => directory.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_core::model::source::SourceDocument;

    fn documentation(from: DocumentationKind, target: &str) -> Option<String> {
        let provider = "acme/widget".parse().unwrap();
        let links = DocumentationLinks {
            root: "/providers/acme/widget/1.0.0/docs",
            provider: &provider,
            from,
            has_page: &|kind, name| {
                let name = name.as_str();
                match kind {
                    DocumentationKind::Resource => name == "thing",
                    DocumentationKind::DataSource => name == "widget_other",
                    _ => false,
                }
            },
        };
        links.resolve(target, TargetKind::Link)
    }

    #[test]
    fn links_to_pages_of_the_provider_are_own() {
        let root = "/providers/acme/widget/1.0.0/docs";
        for (target, expected) in [
            ("thing", "/resources/thing"),
            ("thing.md#a", "/resources/thing#a"),
            ("../resources/widget_thing.html", "/resources/thing"),
            ("../data-sources/other", "/data-sources/widget_other"),
            ("../d/other.html.markdown", "/data-sources/widget_other"),
            ("/docs/providers/widget/r/thing.html", "/resources/thing"),
            ("/docs/providers/widget/index.html", ""),
            ("/docs/resources/thing", "/resources/thing"),
            ("../index.md", ""),
            ("../overview", ""),
            ("..", ""),
            (
                "https://registry.terraform.io/providers/acme/widget/latest/docs/resources/thing#b",
                "/resources/thing#b",
            ),
            (
                "https://search.opentofu.org/provider/acme/widget/v1.0.0/docs/datasources/other",
                "/data-sources/widget_other",
            ),
            (
                "https://registry.terraform.io/providers/acme/widget/latest",
                "",
            ),
            (
                "https://www.terraform.io/docs/providers/widget/d/other.html",
                "/data-sources/widget_other",
            ),
        ] {
            let found = documentation(DocumentationKind::Resource, target);
            assert_eq!(found, Some(format!("{root}{expected}")), "{target}");
        }
        for target in ["resources/thing", "docs/resources/thing", "./r/thing"] {
            let found = documentation(DocumentationKind::Overview, target);
            assert_eq!(found, Some(format!("{root}/resources/thing")), "{target}");
        }
    }

    #[test]
    fn links_to_other_places_are_kept_or_dropped() {
        for target in [
            "missing",
            "../../x",
            "a/b/c",
            "../images/a.png",
            "https://example.com/providers/acme/widget/latest/docs",
            "https://registry.terraform.io/providers/hashicorp/aws/latest/docs",
            "https://registry.terraform.io/providers/acme/widget/latest/docs/resources/missing",
        ] {
            assert_eq!(
                documentation(DocumentationKind::Resource, target),
                None,
                "{target}"
            );
        }
        assert_eq!(
            documentation(DocumentationKind::Resource, "/docs/providers/aws/r/a.html"),
            Some("https://www.terraform.io/docs/providers/aws/r/a.html".to_owned())
        );
        assert_eq!(
            documentation(
                DocumentationKind::Resource,
                "/providers/hashicorp/aws/latest"
            ),
            Some("https://registry.terraform.io/providers/hashicorp/aws/latest".to_owned())
        );
    }

    const COMMIT: &str = "1111111111111111111111111111111111111111";

    /// Resolves a link in the README of a directory of a module, which is in the directory `top` of its repository.
    fn module(top: &str, directory: &str, target: &str, kind: TargetKind) -> Option<String> {
        let url = "https://github.com/a/b.git".parse().unwrap();
        let source = SourceDocument::claimed(url, Some(COMMIT.parse().unwrap()));
        let source = source.with_directory(top.parse().ok());
        let links = ModuleLinks {
            root: "/modules/acme/vpc/aws/1.0.0",
            directory,
            has_part: &|path| {
                let known = ["modules/subnet", "modules/iam/a b", "examples/simple"];
                known.contains(&path)
            },
            has_image: &|path| path == "docs/own.png",
            repository: Some(&Repository::of(&source, None)),
        };
        links.resolve(target, kind)
    }

    #[test]
    fn links_to_parts_of_the_module_are_own() {
        let root = "/modules/acme/vpc/aws/1.0.0";
        for (directory, target, expected) in [
            ("", "modules/subnet", "/submodules/subnet"),
            ("", "modules/iam/a%20b", "/submodules/iam/a%20b"),
            (
                "",
                "./examples/simple/README.md#usage",
                "/examples/simple#usage",
            ),
            ("", "/examples/simple/", "/examples/simple"),
            ("modules/subnet", "../../", ""),
            ("modules/subnet", "../../README.md", ""),
            (
                "modules/subnet",
                "../../examples/simple",
                "/examples/simple",
            ),
        ] {
            for top in ["", "infra/vpc"] {
                let target = match target.strip_prefix('/') {
                    Some(path) => format!("/{top}/{path}"),
                    None => target.to_owned(),
                };
                let found = module(top, directory, &target, TargetKind::Link);
                assert_eq!(found, Some(format!("{root}{expected}")), "{target}");
            }
        }
    }

    #[test]
    fn links_to_other_files_lead_to_their_place_in_the_repository() {
        for (top, directory, target, expected) in [
            ("", "", "LICENSE", Some("LICENSE")),
            ("", "", "./docs/a.md?x#b", Some("docs/a.md?x#b")),
            ("", "", "examples/other", Some("examples/other")),
            ("", "", "../x", None),
            ("", "", "https://example.com", None),
            ("modules/vpc", "", "LICENSE", Some("modules/vpc/LICENSE")),
            (
                "modules/vpc",
                "modules/subnet",
                "a b.md",
                Some("modules/vpc/modules/subnet/a%20b.md"),
            ),
            ("modules/vpc", "", "../other", Some("modules/other")),
            ("modules/vpc", "", "../../LICENSE", Some("LICENSE")),
            ("modules/vpc", "", "/LICENSE", Some("LICENSE")),
            ("modules/vpc", "", "../vpc2", Some("modules/vpc2")),
            ("modules/vpc", "", "../../../x", None),
        ] {
            let found = module(top, directory, target, TargetKind::Link);
            let blob = |path| format!("https://github.com/a/b/blob/{COMMIT}/{path}");
            assert_eq!(found, expected.map(blob), "{target}");
        }
        let image = module(
            "m",
            "modules/subnet",
            "../../docs/own.png",
            TargetKind::Image,
        );
        let expected = "/modules/acme/vpc/aws/1.0.0/files/docs/own.png";
        assert_eq!(image.as_deref(), Some(expected));
        let image = module("m", "modules/subnet", "a.png", TargetKind::Image);
        let expected = format!("https://github.com/a/b/raw/{COMMIT}/m/modules/subnet/a.png");
        assert_eq!(image, Some(expected));
    }
}
