//! The head of a documentation archive.

use serde::{Deserialize, Serialize};

use super::module::ModuleDetails;
use super::page::Member;
use super::provider::ProviderDetails;
use crate::limits;
use crate::model::package::{Package, PackageKind};
use terrace_base::untrusted::quoted;

/// The schema of the heads written here.
const SCHEMA: u32 = 1;

/// The first member of a documentation archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    schema: u32,
    /// The details of the module or the provider.
    pub contents: Contents,
    /// Notes for readers: about files that were cut, skipped or unreadable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The details of a module or a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "a request has one, which it moves a few times"
)]
pub enum Contents {
    /// The details of a module.
    Module(ModuleDetails),
    /// The navigation of a provider.
    Provider(ProviderDetails),
}

/// The reason why the first member of an archive is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum HeadError {
    /// It is too long.
    #[error("the head of the documentation has {0} bytes, at most {max} are allowed", max = limits::DOCUMENTATION_HEAD_BYTES)]
    TooLong(usize),
    /// It is not JSON of this shape.
    #[error("the head of the documentation is not valid: {0}")]
    Json(#[from] serde_json::Error),
    /// It was written by a newer version of the command.
    #[error(
        "the head of the documentation has schema {0}, but this version of Terrace reads only schema {SCHEMA}: use the version of the terrace command that belongs to this registry"
    )]
    Schema(u32),
    /// It describes a provider instead of a module, or a module instead of a provider.
    #[error("the documentation is that of a {found}, but {address} is a {expected}")]
    Kind {
        /// The kind of the documentation.
        found: PackageKind,
        /// The address of the package.
        address: String,
        /// The kind of the package.
        expected: PackageKind,
    },
    /// There are too many pages.
    #[error("the documentation has {0} pages, at most {max} are allowed", max = limits::DOCUMENTATION_PAGES)]
    TooManyPages(usize),
    /// There are too many symbols.
    #[error("the documentation has {0} symbols, at most {max} are allowed", max = limits::DOCUMENTATION_SYMBOLS)]
    TooManySymbols(usize),
    /// The name of a symbol is too long.
    #[error(
        "the name of the symbol {} has {} bytes, at most {max} are allowed",
        quoted(.0),
        .0.len(),
        max = limits::SYMBOL_NAME_BYTES
    )]
    SymbolName(String),
    /// A text of a page in the navigation is too long.
    #[error("the title, the group or the description of the page {0:?} has more than {max} characters", max = limits::TITLE_CHARS)]
    Title(String),
    /// There are too many entries, or too long ones.
    #[error(
        "the documentation exceeds its limits by {0} entries: at most {parts} submodules, as many examples, {of_part} inputs, outputs, \
         resources and the like of one directory, {entries} of all, of {bytes} bytes each, and {notes} notes of {chars} characters each are allowed",
        parts = limits::MODULE_PARTS,
        of_part = limits::PART_ENTRIES,
        entries = limits::MODULE_ENTRIES,
        bytes = limits::ENTRY_BYTES,
        notes = limits::DOCUMENTATION_NOTES,
        chars = limits::DOCUMENTATION_NOTE_CHARS
    )]
    Excess(usize),
    /// A page is outside the archive, or too long.
    #[error("the page {0:?} of the documentation is outside the archive, or longer than {max} bytes", max = limits::PAGE_BYTES)]
    Page(String),
}

impl Head {
    /// Creates the head of these contents.
    pub fn new(contents: Contents, notes: Vec<String>) -> Self {
        Self {
            schema: SCHEMA,
            contents,
            notes,
        }
    }

    /// Parses the inflated first member of an archive for a version of `package`. `available` is the number of bytes
    /// after the member.
    ///
    /// # Errors
    /// The reason why the archive is not accepted.
    pub fn parse(bytes: &[u8], package: &Package, available: u64) -> Result<Self, HeadError> {
        if bytes.len() > limits::DOCUMENTATION_HEAD_BYTES {
            return Err(HeadError::TooLong(bytes.len()));
        }
        let mut head: Self = serde_json::from_slice(bytes)?;
        if head.schema != SCHEMA {
            return Err(HeadError::Schema(head.schema));
        }
        let found = match head.contents {
            Contents::Module(_) => PackageKind::Module,
            Contents::Provider(_) => PackageKind::Provider,
        };
        let expected = package.kind();
        if found != expected {
            let address = package.address();
            return Err(HeadError::Kind {
                found,
                address,
                expected,
            });
        }
        let members: Vec<(String, Member)> = head.members().collect();
        if members.len() > limits::DOCUMENTATION_PAGES {
            return Err(HeadError::TooManyPages(members.len()));
        }
        let mut members = members.into_iter();
        if let Some((name, _)) = members.find(|(_, member)| !member.is_within(available)) {
            return Err(HeadError::Page(name));
        }
        head.check_provider()?;
        match head.remove_excess() {
            0 => Ok(head),
            excess => Err(HeadError::Excess(excess)),
        }
    }

    fn check_provider(&self) -> Result<(), HeadError> {
        let Contents::Provider(provider) = &self.contents else {
            return Ok(());
        };
        let is_long = |text: &str| text.chars().nth(limits::TITLE_CHARS).is_some();
        let mut pages = provider.pages.iter();
        if let Some(page) = pages.find(|page| {
            let other = [&page.subcategory, &page.description];
            is_long(&page.title) || other.into_iter().flatten().any(|text| is_long(text))
        }) {
            return Err(HeadError::Title(format!("{}/{}", page.kind, page.name)));
        }
        let symbols = &provider.symbols;
        if symbols.len() > limits::DOCUMENTATION_SYMBOLS {
            return Err(HeadError::TooManySymbols(symbols.len()));
        }
        match symbols
            .iter()
            .find(|symbol| symbol.name.len() > limits::SYMBOL_NAME_BYTES)
        {
            Some(symbol) => Err(HeadError::SymbolName(symbol.name.clone())),
            None => Ok(()),
        }
    }

    /// Returns the names and places of all pages.
    fn members(&self) -> Box<dyn Iterator<Item = (String, Member)> + '_> {
        match &self.contents {
            Contents::Module(module) => {
                let pages = module.files().chain(&module.attachments);
                Box::new(pages.map(|page| (page.name.to_string(), page.member)))
            }
            Contents::Provider(provider) => {
                let pages = provider.pages.iter();
                Box::new(pages.map(|page| (format!("{}/{}", page.kind, page.name), page.member)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documentation::{DocumentationKind, Page, ProviderPage, Symbol};
    use crate::pinned::assert_pinned;

    fn module() -> Package {
        Package::Module("acme/vpc/aws".parse().unwrap())
    }

    fn provider() -> Package {
        Package::Provider("acme/widget".parse().unwrap())
    }

    fn page(offset: u64, length: u32) -> ProviderPage {
        ProviderPage {
            kind: DocumentationKind::Resource,
            name: "widget".parse().unwrap(),
            title: "acme_widget".to_owned(),
            subcategory: None,
            description: None,
            member: Member {
                offset,
                length,
                size: 5,
            },
            is_truncated: false,
            is_generated: false,
        }
    }

    fn navigation(pages: Vec<ProviderPage>) -> String {
        let details = ProviderDetails {
            pages,
            ..ProviderDetails::default()
        };
        let head = Head::new(Contents::Provider(details), Vec::new());
        serde_json::to_string(&head).unwrap()
    }

    #[test]
    fn a_head_is_parsed_as_written() {
        let mut details = ModuleDetails::default();
        details.root.readme = Some("# VPC\n".to_owned());
        let head = Head::new(Contents::Module(details), vec!["a note".to_owned()]);
        let text = serde_json::to_string(&head).unwrap();
        assert_pinned(
            &text,
            r##"{"schema":1,"contents":{"module":{"root":{"readme":"# VPC\n"}}},"notes":["a note"]}"##,
        );
        assert_eq!(Head::parse(text.as_bytes(), &module(), 0).unwrap(), head);
        assert_pinned(
            &navigation(vec![page(0, 10)]),
            r#"{"schema":1,"contents":{"provider":{"pages":[{"kind":"resources","name":"widget","title":"acme_widget","member":{"offset":0,"length":10,"size":5}}]}}}"#,
        );
    }

    #[test]
    fn documentation_of_another_kind_of_package_is_rejected() {
        let error = Head::parse(navigation(Vec::new()).as_bytes(), &module(), 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the documentation is that of a provider, but acme/vpc/aws is a module"
        );
    }

    #[test]
    fn a_page_outside_the_archive_is_rejected() {
        let text = navigation(vec![page(0, 10)]);
        assert!(Head::parse(text.as_bytes(), &provider(), 10).is_ok());
        assert!(
            matches!(Head::parse(text.as_bytes(), &provider(), 9), Err(HeadError::Page(name)) if name == "resources/widget")
        );
    }

    #[test]
    fn too_many_pages_are_rejected() {
        let pages = vec![page(0, 10); limits::DOCUMENTATION_PAGES + 1];
        let error = Head::parse(navigation(pages).as_bytes(), &provider(), 10).unwrap_err();
        assert!(matches!(error, HeadError::TooManyPages(2_001)), "{error}");
    }

    #[test]
    fn a_page_with_a_long_title_group_or_description_is_rejected() {
        let parse = |change: fn(&mut ProviderPage)| {
            let mut page = page(0, 10);
            change(&mut page);
            Head::parse(navigation(vec![page]).as_bytes(), &provider(), 10)
        };
        fn long() -> String {
            "é".repeat(limits::TITLE_CHARS + 1)
        }
        assert!(parse(|page| page.title = "é".repeat(limits::TITLE_CHARS)).is_ok());
        for parsed in [
            parse(|page| page.title = long()),
            parse(|page| page.subcategory = Some(long())),
            parse(|page| page.description = Some(long())),
        ] {
            assert!(matches!(parsed, Err(HeadError::Title(name)) if name == "resources/widget"));
        }
    }

    #[test]
    fn too_many_symbols_and_a_symbol_with_a_long_name_are_rejected() {
        let parse = |count: usize, name_bytes: usize| {
            let symbol = Symbol {
                kind: DocumentationKind::Resource,
                name: "x".repeat(name_bytes),
                page: None,
                arguments: None,
            };
            let details = ProviderDetails {
                symbols: vec![symbol; count],
                ..ProviderDetails::default()
            };
            let head = Head::new(Contents::Provider(details), Vec::new());
            let text = serde_json::to_string(&head).unwrap();
            let parsed = Head::parse(text.as_bytes(), &provider(), 0);
            parsed.map_err(|error| error.to_string())
        };
        let (most, longest) = (limits::DOCUMENTATION_SYMBOLS, limits::SYMBOL_NAME_BYTES);
        assert!(parse(most, longest).is_ok());
        let many = parse(most + 1, 5).unwrap_err();
        assert!(many.contains("5001 symbols, at most 5000"), "{many}");
        let long = parse(1, 100_000).unwrap_err();
        assert!(
            long.ends_with("has 100000 bytes, at most 192 are allowed"),
            "{long}"
        );
        assert!(long.len() < 300, "{long}");
    }

    #[test]
    fn a_file_of_an_example_is_a_page_too() {
        let member = Member {
            offset: 5,
            length: 10,
            size: 5,
        };
        let name = "main.tf".parse().unwrap();
        let file = Page {
            name,
            member,
            is_truncated: false,
        };
        let text = format!(
            r#"{{"schema":1,"contents":{{"module":{{"root":{{}},"examples":[{{"name":"simple","files":[{}]}}]}}}}}}"#,
            serde_json::to_string(&file).unwrap()
        );
        assert!(Head::parse(text.as_bytes(), &module(), 15).is_ok());
        assert!(matches!(
            Head::parse(text.as_bytes(), &module(), 14),
            Err(HeadError::Page(_))
        ));
    }

    #[test]
    fn a_head_of_a_newer_schema_is_rejected() {
        let text = navigation(Vec::new()).replace("\"schema\":1", "\"schema\":2");
        assert!(matches!(
            Head::parse(text.as_bytes(), &provider(), 0),
            Err(HeadError::Schema(2))
        ));
    }
}
