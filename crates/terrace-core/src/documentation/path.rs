//! The paths of documents within the documentation of a version.

use std::fmt;

use super::head::{Contents, Head};
use super::module::NamedPart;
use super::page::{Member, PageName};
use super::provider::DocumentationKind;
use crate::model::package::Package;
use crate::model::relative_path::RelativePath;

/// A document of a version, as the last segments of its path name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentPath {
    /// `overview`: the first page of a provider.
    Overview,
    /// `{kind}/{name}`: a page of a provider.
    Page(DocumentationKind, PageName),
    /// `readme`: the README of a module.
    Readme,
    /// `submodules/{name}`: the README of a submodule, whose name may have several segments.
    Submodule(RelativePath),
    /// `examples/{name}`: the README of an example. A name of several segments is parsed as an example and a file.
    Example(RelativePath),
    /// `examples/{name}/{file}`: a file of an example; if there is none, the README of the example at this path.
    ExampleFile(RelativePath, RelativePath),
    /// `files/{path}`: an image of a README, or the licence.
    File(RelativePath),
}

/// The types of images, by the ends of their names.
const IMAGES: [(&str, &str); 6] = [
    (".png", "image/png"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".gif", "image/gif"),
    (".webp", "image/webp"),
    (".svg", "image/svg+xml"),
];

/// Returns whether a file at the top of a package is its licence.
pub fn is_license_file(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let stems = ["license", "licence", "copying"];
    stems.iter().any(|known| stem.eq_ignore_ascii_case(known)) && image_type(name).is_none()
}

/// Returns the content type of an image with this name; `None` if it is no image.
pub fn image_type(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let found = IMAGES.into_iter().find(|(end, _)| name.ends_with(end));
    found.map(|(_, content_type)| content_type)
}

/// The text of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentText<'h> {
    /// The text itself, from the head of the archive.
    Here(&'h str),
    /// Its place in the archive.
    At(Member),
}

impl Head {
    /// Returns the text of a document; `None` if it does not exist.
    pub fn document(&self, path: &DocumentPath) -> Option<DocumentText<'_>> {
        match (&self.contents, path) {
            (Contents::Provider(provider), DocumentPath::Overview) => {
                let mut pages = provider.pages.iter();
                let page = pages.find(|page| page.kind == DocumentationKind::Overview)?;
                Some(DocumentText::At(page.member))
            }
            (Contents::Provider(provider), DocumentPath::Page(kind, name)) => provider
                .page(*kind, name)
                .map(|page| DocumentText::At(page.member)),
            (Contents::Module(module), DocumentPath::Readme) => {
                module.root.readme.as_deref().map(DocumentText::Here)
            }
            (Contents::Module(module), DocumentPath::Submodule(name)) => {
                readme(named(&module.submodules, name)?)
            }
            (Contents::Module(module), DocumentPath::Example(name)) => {
                readme(named(&module.examples, name)?)
            }
            (Contents::Module(module), DocumentPath::ExampleFile(name, file)) => {
                let example = named(&module.examples, name);
                let mut files = example.into_iter().flat_map(|example| &example.files);
                match files.find(|known| known.name == *file) {
                    Some(file) => Some(DocumentText::At(file.member)),
                    None => readme(named(&module.examples, &name.joined(file))?),
                }
            }
            (Contents::Module(module), DocumentPath::File(name)) => {
                let mut files = module.attachments.iter();
                let file = files.find(|known| known.name == *name)?;
                Some(DocumentText::At(file.member))
            }
            _ => None,
        }
    }
}

fn named<'h>(parts: &'h [NamedPart], name: &RelativePath) -> Option<&'h NamedPart> {
    parts.iter().find(|part| part.name == *name)
}

fn readme(part: &NamedPart) -> Option<DocumentText<'_>> {
    part.part.readme.as_deref().map(DocumentText::Here)
}

impl DocumentPath {
    /// Parses the segments of a path below the documentation of a version of `package`; `None` if they name no
    /// document that such a version could have.
    pub fn parse(package: &Package, segments: &[&str]) -> Option<Self> {
        let name = |text: &str| text.parse::<PageName>().ok();
        let part = RelativePath::from_url;
        let is_module = matches!(package, Package::Module(_));
        Some(match segments {
            ["readme"] if is_module => Self::Readme,
            ["files", name @ ..] if is_module => Self::File(part(name)?),
            ["submodules", name @ ..] if is_module => Self::Submodule(part(name)?),
            ["examples", name] if is_module => Self::Example(part(&[*name])?),
            ["examples", name @ .., file] if is_module => {
                Self::ExampleFile(part(name)?, part(&[*file])?)
            }
            _ if is_module => return None,
            ["overview"] => Self::Overview,
            [kind, page] => match kind.parse().ok()? {
                DocumentationKind::Overview => return None,
                kind => Self::Page(kind, name(page)?),
            },
            _ => return None,
        })
    }

    /// Returns the path whose page shows this document: the example at this path, or the one with this file.
    #[must_use]
    pub fn shown_by(self, is_example: impl FnOnce(&RelativePath) -> bool) -> Self {
        let Self::ExampleFile(example, file) = self else {
            return self;
        };
        let whole = example.joined(&file);
        match is_example(&whole) {
            true => Self::Example(whole),
            false => Self::Example(example),
        }
    }

    /// Creates the path of a page of a provider.
    pub fn of_page(kind: DocumentationKind, name: &PageName) -> Self {
        match kind {
            DocumentationKind::Overview => Self::Overview,
            kind => Self::Page(kind, name.clone()),
        }
    }

    /// Returns the content type: only files are no Markdown.
    pub fn content_type(&self) -> &'static str {
        match self {
            Self::ExampleFile(_, file) | Self::File(file) if !file.as_str().ends_with(".md") => {
                let image = image_type(file.as_str()).filter(|_| matches!(self, Self::File(_)));
                image.unwrap_or("text/plain; charset=utf-8")
            }
            _ => "text/markdown; charset=utf-8",
        }
    }
}

impl fmt::Display for DocumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overview => f.write_str("overview"),
            Self::Page(kind, name) => write!(f, "{kind}/{name}"),
            Self::Readme => f.write_str("readme"),
            Self::File(name) => write!(f, "files/{}", name.in_url()),
            Self::Submodule(name) => write!(f, "submodules/{}", name.in_url()),
            Self::Example(name) => write!(f, "examples/{}", name.in_url()),
            Self::ExampleFile(name, file) => {
                write!(f, "examples/{}/{}", name.in_url(), file.in_url())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(package: &str, path: &str) -> Option<DocumentPath> {
        let segments: Vec<&str> = path.split('/').collect();
        DocumentPath::parse(&Package::parse_address(package).unwrap(), &segments)
    }

    #[test]
    fn a_document_is_found_by_its_path() {
        let module = r##"{"schema":1,"contents":{"module":{"root":{"readme":"# Root"},
            "submodules":[{"name":"a","part":{"readme":"# A"}}],
            "examples":[{"name":"b/c","part":{"readme":"# C"}},{"name":"b","files":[{"name":"main.tf","member":{"offset":5,"length":6,"size":7}}]}]}}}"##;
        let provider = r#"{"schema":1,"contents":{"provider":{"pages":[
            {"kind":"overview","name":"index","title":"x","member":{"offset":1,"length":2,"size":3}},
            {"kind":"resources","name":"x","title":"x","member":{"offset":4,"length":5,"size":6}}]}}}"#;
        for (head, package, path, expected) in [
            (module, "acme/vpc/aws", "readme", Some("Here(\"# Root\")")),
            (
                module,
                "acme/vpc/aws",
                "submodules/a",
                Some("Here(\"# A\")"),
            ),
            (module, "acme/vpc/aws", "submodules/b", None),
            (module, "acme/vpc/aws", "examples/b", None),
            (
                module,
                "acme/vpc/aws",
                "examples/b/c",
                Some("Here(\"# C\")"),
            ),
            (
                module,
                "acme/vpc/aws",
                "examples/b/main.tf",
                Some("At(Member { offset: 5, length: 6, size: 7 })"),
            ),
            (module, "acme/vpc/aws", "examples/b/other.tf", None),
            (
                provider,
                "acme/widget",
                "overview",
                Some("At(Member { offset: 1, length: 2, size: 3 })"),
            ),
            (
                provider,
                "acme/widget",
                "resources/x",
                Some("At(Member { offset: 4, length: 5, size: 6 })"),
            ),
            (provider, "acme/widget", "data-sources/x", None),
        ] {
            let head: Head = serde_json::from_str(head).unwrap();
            let found = head.document(&parse(package, path).unwrap());
            let found = found.map(|it| format!("{it:?}"));
            assert_eq!(found.as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_path_of_another_kind_of_package_is_rejected() {
        for (package, path) in [
            ("acme/widget", "readme"),
            ("acme/widget", "overview/index"),
            ("acme/widget", "widgets/x"),
            ("acme/widget", "resources/.hidden"),
            ("acme/widget", "resources/a/b"),
            ("acme/widget", ""),
            ("acme/vpc/aws", "overview"),
            ("acme/vpc/aws", "resources/widget"),
            ("acme/vpc/aws", "submodules"),
            ("acme/vpc/aws", "examples/a//c"),
            ("acme/vpc/aws", "examples/%2e%2e/c"),
        ] {
            assert_eq!(parse(package, path), None, "{package} {path}");
        }
    }
}
