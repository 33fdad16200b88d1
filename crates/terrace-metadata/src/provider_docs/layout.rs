//! The two layouts of documentation: `docs`, which `tfplugindocs` writes, and the older `website/docs`.

use std::collections::BTreeMap;

use terrace_core::documentation::DocumentationKind as Kind;
use terrace_core::limits::PAGE_NAME_BYTES;

use crate::provider_docs::PageKey;
use crate::source::SourceFile;
use crate::text::shown;

/// The extensions of pages. A longer one comes before its end.
const EXTENSIONS: [&str; 6] = [
    ".html.markdown",
    ".html.md",
    ".markdown.html",
    ".md.html",
    ".markdown",
    ".md",
];

/// The directory of the older layout. Its pages count if there are any: providers with both keep notes of their own
/// in `docs`.
const LEGACY: &str = "website/docs/";

const MODERN: &str = "docs/";

/// The files of one layout.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    /// The files, with their paths below the directory of the layout.
    files: BTreeMap<&'a str, SourceFile<'a>>,
    is_legacy: bool,
    is_mixed: bool,
}

/// A path, and a message about it.
type Problem<'a> = (&'a str, String);

impl<'a> Layout<'a> {
    /// Finds the layout in the files of a repository, or of its documentation alone.
    pub(super) fn find(files: &[SourceFile<'a>]) -> Self {
        let below = |directory: &str| -> BTreeMap<&'a str, SourceFile<'a>> {
            let below = files.iter().filter_map(|file| {
                let path = file.path.strip_prefix("./").unwrap_or(file.path);
                Some((path.strip_prefix(directory)?, *file))
            });
            below.collect()
        };
        let (legacy, modern) = (below(LEGACY), below(MODERN));
        let has_pages =
            |files: &BTreeMap<&str, _>| files.keys().any(|path| kind_of_path(path).is_some());
        let (is_legacy, has_modern) = (has_pages(&legacy), has_pages(&modern));
        if is_legacy {
            let is_mixed = modern
                .keys()
                .any(|path| matches!(kind_of_path(path), Some(kind) if kind != Kind::Overview));
            return Self {
                files: legacy,
                is_legacy,
                is_mixed,
            };
        }
        let files = if has_modern { modern } else { below("") };
        // The directory itself: its page or its directories tell the layouts apart.
        let is_legacy = !has_modern
            && files.keys().any(|path| {
                path.starts_with("r/") || path.starts_with("d/") || path.starts_with("index.html.")
            });
        Self {
            files,
            is_legacy,
            is_mixed: false,
        }
    }

    pub(super) fn is_legacy(&self) -> bool {
        self.is_legacy
    }

    /// Returns the directory of the layout in a repository.
    pub(super) fn directory(&self) -> &'static str {
        match self.is_legacy {
            true => "website/docs",
            false => "docs",
        }
    }

    /// Returns the pages, and the problems of other files.
    pub(super) fn pages(&self) -> (Vec<(PageKey, SourceFile<'a>)>, Vec<Problem<'a>>) {
        let mut pages = Vec::new();
        let mut problems = Vec::new();
        if self.is_mixed {
            let message = "there are pages in docs and in website/docs; only those in website/docs are used, so move all to docs";
            problems.push(("website/docs", message.to_owned()));
        }
        for (path, file) in &self.files {
            match self.page(path) {
                Ok(Some(key)) => pages.push((key, *file)),
                Ok(None) => {}
                Err(message) => problems.push((file.path, message)),
            }
        }
        (pages, problems)
    }

    /// Returns the kind and the name of a page.
    fn page(&self, path: &str) -> Result<Option<PageKey>, String> {
        let segments: Vec<&str> = path.split('/').collect();
        match segments.as_slice() {
            ["cdktf", ..] => Ok(None),
            [file] => match stem(file) {
                Some("index") => page_key(Kind::Overview, "index").map(Some),
                Some(_) if self.is_legacy => {
                    Err("the page is in no directory of pages, such as r or d".to_owned())
                }
                // Providers keep other notes there.
                _ => Ok(None),
            },
            [directory, file] => match kind_of(directory) {
                Some(kind) => {
                    let name = stem(file).ok_or_else(|| invalid_extension(self.is_legacy))?;
                    page_key(kind, name).map(Some)
                }
                None if self.is_legacy => Err(invalid_directory(directory)),
                None => Ok(None),
            },
            [directory, .., _] if kind_of(directory).is_some() || self.is_legacy => {
                let directory = path
                    .rsplit_once('/')
                    .map_or(path, |(directory, _)| directory);
                Err(invalid_directory(directory))
            }
            _ => Ok(None),
        }
    }
}

fn page_key(kind: Kind, name: &str) -> Result<PageKey, String> {
    let parsed = name.parse();
    parsed.map(|name| (kind, name)).map_err(|_| {
        format!(
            "the page is left out, because its name {}",
            page_name_fault(name)
        )
    })
}

/// Returns the reason why a name is not that of a page, as the end of a sentence that begins with the name.
fn page_name_fault(name: &str) -> String {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if !name.chars().all(is_allowed) {
        "has characters other than ASCII letters, digits, dots, dashes and underscores".to_owned()
    } else if name.len() > PAGE_NAME_BYTES {
        let length = name.len();
        format!("has {length} characters, and at most {PAGE_NAME_BYTES} are allowed")
    } else {
        "begins with a dot".to_owned()
    }
}

fn invalid_directory(directory: &str) -> String {
    format!(
        "{} is no directory of pages; the file is left out",
        shown(directory)
    )
}

fn invalid_extension(is_legacy: bool) -> String {
    let extensions = if is_legacy {
        ".html.markdown, .html.md, .markdown or .md"
    } else {
        ".md"
    };
    format!("the file is left out, because its extension is not {extensions}")
}

fn kind_of_path(path: &str) -> Option<Kind> {
    match path.split_once('/') {
        None => (stem(path)? == "index").then_some(Kind::Overview),
        Some((directory, file)) => {
            stem(file)?;
            kind_of(directory)
        }
    }
}

/// Returns the kind of the pages in a directory of either layout.
pub(super) fn kind_of(directory: &str) -> Option<Kind> {
    match directory {
        "r" => Some(Kind::Resource),
        "d" => Some(Kind::DataSource),
        "f" => Some(Kind::Function),
        // The first page is not a directory.
        "overview" => None,
        other => other.parse().ok(),
    }
}

/// Returns the name of a file without the extension of a page.
pub(super) fn stem(file: &str) -> Option<&str> {
    let stem = EXTENSIONS
        .into_iter()
        .find_map(|extension| file.strip_suffix(extension))?;
    (!stem.is_empty()).then_some(stem)
}

/// Returns the name that a link refers to, without the extension of a page or of its HTML.
pub(super) fn link_stem(file: &str) -> &str {
    stem(file)
        .or_else(|| file.strip_suffix(".html"))
        .unwrap_or(file)
}
