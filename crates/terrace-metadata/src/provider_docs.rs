//! Providers: the pages of their documentation, and the names that configurations refer to.

mod check;
mod frontmatter;
mod layout;
mod links;
mod symbols;

use std::collections::BTreeMap;

use terrace_core::documentation::{
    Contents, DocumentationKind, PageName, ProviderDetails, ProviderPage,
};
use terrace_core::limits::{DOCUMENTATION_PAGES, PAGE_BYTES};

use crate::draft::{Draft, UNPACKED, Warning};
use crate::limits;
use crate::provider_docs::frontmatter::Frontmatter;
pub(crate) use crate::provider_docs::frontmatter::without_frontmatter;
use crate::provider_docs::layout::Layout;
use crate::provider_docs::links::Links;
use crate::schema::Schema;
use crate::source::SourceFile;
use crate::text::{Messages, cut, decode, one_line, shown};

/// The text at the end of a page that was cut.
const CUT: &str =
    "\n\n---\n\n*The rest of this page was left out, because the page is too long.*\n";

const PAGE_SIZE: usize = PAGE_BYTES as usize;

/// The provider of the documentation that is extracted.
#[derive(Debug, Clone, Copy)]
pub struct ProviderOptions<'o> {
    /// The type of the provider, such as `aws`: the beginning of its resource types.
    pub provider_type: &'o str,
    /// Its schema. Without one, the symbols follow from the names of pages.
    pub schema: Option<&'o Schema>,
}

/// Extracts the documentation of a provider from the files of a repository, or of its `docs` directory.
///
/// Its pages are Markdown without frontmatter, with the links of their authors.
pub fn provider_details(files: &[SourceFile<'_>], options: ProviderOptions<'_>) -> Draft {
    let mut reader = ProviderReader {
        warnings: Vec::new(),
        omitted_warnings: 0,
        notes: Messages::default(),
        pages: BTreeMap::new(),
        paths: BTreeMap::new(),
    };
    let layout = Layout::find(files);
    let found = reader.locate(&layout);
    let links = Links::new(options.provider_type, found.keys().cloned());
    for (key, file) in found {
        reader.read(key, &file, &layout, &links);
    }
    if let Some(schema) = options.schema {
        reader.check_names(schema, options.provider_type);
        reader.generate(schema, options.provider_type);
    }
    reader.draft(options)
}

/// The kind and the name of a page.
type PageKey = (DocumentationKind, PageName);

struct ProviderReader {
    warnings: Vec<Warning>,
    omitted_warnings: usize,
    notes: Messages,
    pages: BTreeMap<PageKey, (ProviderPage, Vec<u8>)>,
    /// The paths of the pages that are files.
    paths: BTreeMap<PageKey, String>,
}

impl ProviderReader {
    fn warn(&mut self, file: &str, line: Option<usize>, message: impl Into<String>) {
        if self.warnings.len() == limits::NOTES {
            self.omitted_warnings += 1;
        } else {
            let file = shown(file);
            let message = message.into();
            self.warnings.push(Warning {
                file,
                line,
                message,
            });
        }
    }

    /// Returns the files that are pages, at most one of a name.
    fn locate<'a>(&mut self, layout: &Layout<'a>) -> BTreeMap<PageKey, SourceFile<'a>> {
        let mut found: BTreeMap<PageKey, SourceFile<'a>> = BTreeMap::new();
        let mut omitted = 0;
        let (files, problems) = layout.pages();
        for (path, message) in problems {
            self.warn(path, None, message);
        }
        for (key, file) in files {
            if let Some(other) = found.get(&key) {
                let message = format!(
                    "the page is left out, because {} has the same name",
                    shown(other.path)
                );
                self.warn(file.path, None, message);
            } else if found.len() == DOCUMENTATION_PAGES {
                omitted += 1;
            } else {
                found.insert(key, file);
            }
        }
        if omitted > 0 {
            let message = format!(
                "{omitted} pages were left out, because documentation has at most {DOCUMENTATION_PAGES} pages"
            );
            self.notes.add(&message);
            self.warn(layout.directory(), None, message);
        }
        found
    }

    fn read(
        &mut self,
        key: PageKey,
        file: &SourceFile<'_>,
        layout: &Layout<'_>,
        links: &Links<'_>,
    ) {
        let path = file.path;
        let (text, invalid) = decode(file.bytes);
        if let Some(at) = invalid {
            let line = crate::text::Lines::of(&text).at(at);
            self.warn(
                path,
                Some(line),
                "the file is not valid UTF-8; the invalid characters were replaced",
            );
        }
        let frontmatter = Frontmatter::parse(&text);
        for (line, message) in
            check::check(&frontmatter, key.0, layout.is_legacy(), file.bytes.len())
        {
            self.warn(path, line, message);
        }
        let body = text.get(frontmatter.end..).unwrap_or_default();
        let body = body.trim_start_matches(['\n', '\r']);
        let start = text.len() - body.len();
        let first_line = text.get(..start).map_or(0, |it| it.matches('\n').count());
        for (line, target) in links.missing(cut(body, PAGE_SIZE), key.0) {
            let message = format!("the link to {} leads to no page", shown(&target));
            self.warn(path, Some(first_line + line), message);
        }
        let (contents, is_truncated) = limited(&format!("{}{body}", frontmatter.kept()));
        let (kind, name) = key.clone();
        let text_of = |value: Option<String>| {
            value
                .map(|text| one_line(&text))
                .filter(|text| !text.is_empty())
        };
        let page = ProviderPage {
            kind,
            title: text_of(frontmatter.page_title).unwrap_or_else(|| name.to_string()),
            name,
            subcategory: text_of(frontmatter.subcategory),
            description: text_of(frontmatter.description),
            member: UNPACKED,
            is_truncated,
            is_generated: false,
        };
        self.paths.insert(key.clone(), path.to_owned());
        self.pages.insert(key, (page, contents));
    }

    /// Adds pages for the parts of a schema that no file describes.
    fn generate(&mut self, schema: &Schema, provider_type: &str) {
        let mut omitted = 0;
        for generated in schema.pages(provider_type) {
            let known = [Some(generated.name.clone()), generated.symbol.parse().ok()];
            let mut known = known.into_iter().flatten();
            if known.any(|name| self.pages.contains_key(&(generated.kind, name))) {
                continue;
            }
            if self.pages.len() == DOCUMENTATION_PAGES {
                omitted += 1;
                continue;
            }
            let (contents, is_truncated) = limited(&generated.markdown);
            let description = one_line(&generated.description);
            let page = ProviderPage {
                kind: generated.kind,
                name: generated.name.clone(),
                title: one_line(&generated.symbol),
                subcategory: None,
                description: Some(description).filter(|text| !text.is_empty()),
                member: UNPACKED,
                is_truncated,
                is_generated: true,
            };
            let key = (generated.kind, generated.name);
            self.pages.insert(key, (page, contents));
        }
        if omitted > 0 {
            self.notes.add(format!(
                "the pages generated from the schema after the first {DOCUMENTATION_PAGES} pages were left out: {omitted}"
            ));
        }
    }

    fn check_names(&mut self, schema: &Schema, provider_type: &str) {
        let paths = std::mem::take(&mut self.paths);
        let pages = paths.iter();
        let pages = pages.map(|((kind, name), path)| (*kind, name.as_str(), path.as_str()));
        for (place, message) in check::check_names(schema, provider_type, pages) {
            self.warn(&place, None, message);
        }
    }

    fn draft(mut self, options: ProviderOptions<'_>) -> Draft {
        if self.omitted_warnings > 0 {
            self.warnings.push(Warning {
                file: "docs".to_owned(),
                line: None,
                message: format!("{} further warnings", self.omitted_warnings),
            });
        }
        let keys = || self.pages.keys();
        let symbols = match options.schema {
            Some(schema) => symbols::of_schema(schema, options.provider_type, keys()),
            None => symbols::of_pages(options.provider_type, keys()),
        };
        let mut symbols = symbols::limited(symbols, &mut self.notes);
        let mut arguments = options.schema.and_then(Schema::provider_arguments);
        symbols::limit_arguments(&mut symbols, &mut arguments, &mut self.notes);
        let (pages, contents) = self.pages.into_values().unzip();
        Draft {
            contents: Contents::Provider(ProviderDetails {
                pages,
                symbols,
                arguments,
            }),
            notes: self.notes.finish(),
            pages: contents,
            warnings: self.warnings,
        }
    }
}

/// Returns the text of a page within the limit, and whether it was cut.
fn limited(text: &str) -> (Vec<u8>, bool) {
    if text.len() <= PAGE_SIZE {
        return (text.as_bytes().to_vec(), false);
    }
    let contents = cut(text, PAGE_SIZE - CUT.len());
    (format!("{contents}{CUT}").into_bytes(), true)
}

#[cfg(test)]
mod tests;
