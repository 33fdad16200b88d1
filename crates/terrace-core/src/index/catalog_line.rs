//! The lines of the catalogue: of a package, and of a symbol.

use serde::{Deserialize, Serialize};

use crate::documentation::{DocumentationKind, PageName};
use crate::model::package::Package;
use crate::model::status::ReleaseState;
use crate::model::version::Version;
use terrace_base::json;
use terrace_base::time::UnixTime;

/// Maximum length of a package's line in the metadata of its card: the limit of R2 for all metadata of an object is
/// 8,192 bytes (<https://developers.cloudflare.com/r2/platform/limits/>), and a page of a listing holds 1,000 of them.
const CARD_BYTES: usize = 2_048;

/// A package in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogLine {
    /// The package.
    pub package: Package,
    /// The newest version that can be installed, or, without one, the newest.
    pub latest: Version,
    /// The time of its publish; `None` if it is unknown.
    pub published_at: Option<UnixTime>,
    /// The number of versions.
    pub versions: u32,
    /// The status of the package, or, without one, of its latest version.
    pub state: Option<ReleaseState>,
    /// `true` if the latest version has documentation.
    pub is_documented: bool,
    /// The description, on one line, of at most [`crate::limits::CATALOG_DESCRIPTION_BYTES`].
    pub description: String,
}

/// A symbol in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogSymbol {
    /// Its kind.
    pub kind: DocumentationKind,
    /// Its whole name, such as `acme_widget`.
    pub name: String,
    /// The provider that has it.
    pub package: Package,
    /// The newest documented version of the provider.
    pub version: Version,
    /// The page that describes it.
    pub page: Option<PageName>,
}

/// The stored form of a [`CatalogLine`].
#[derive(Serialize, Deserialize)]
struct Line(
    String,
    Version,
    Option<UnixTime>,
    u32,
    Option<ReleaseState>,
    u8,
    String,
);

/// The stored form of a [`CatalogSymbol`].
#[derive(Serialize, Deserialize)]
struct SymbolLine(DocumentationKind, String, String, Version, Option<PageName>);

impl CatalogLine {
    /// Returns the line as it is stored.
    pub fn to_line(&self) -> String {
        json::to_string(&Line(
            self.package.to_string(),
            self.latest.clone(),
            self.published_at,
            self.versions,
            self.state,
            u8::from(self.is_documented),
            self.description.clone(),
        ))
    }

    /// Parses a stored line; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let Line(package, latest, published_at, versions, state, documented, description) =
            serde_json::from_slice(text.as_bytes()).ok()?;
        Some(Self {
            package: Package::parse_key(&package)?,
            latest,
            published_at,
            versions,
            state,
            is_documented: documented != 0,
            description,
        })
    }

    /// Returns the line for the metadata of an object, which is ASCII, of at most `CARD_BYTES`. If it is
    /// longer, it has no description.
    pub fn to_metadata(&self) -> String {
        let text = in_ascii(&self.to_line());
        if text.len() <= CARD_BYTES {
            return text;
        }
        let mut line = self.clone();
        line.description.clear();
        line.to_line()
    }
}

impl CatalogSymbol {
    /// Returns the line as it is stored.
    pub fn to_line(&self) -> String {
        json::to_string(&SymbolLine(
            self.kind,
            self.name.clone(),
            self.package.to_string(),
            self.version.clone(),
            self.page.clone(),
        ))
    }

    /// Parses a stored line; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let SymbolLine(kind, name, package, version, page) =
            serde_json::from_slice(text.as_bytes()).ok()?;
        Some(Self {
            kind,
            name,
            package: Package::parse_key(&package)?,
            version,
            page,
        })
    }
}

/// Returns JSON with all characters outside ASCII escaped.
fn in_ascii(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            escaped.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    escaped
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(in crate::index) fn line(name: &str, published_at: u64) -> CatalogLine {
        CatalogLine {
            package: Package::Module(format!("acme/{name}/aws").parse().unwrap()),
            latest: "1.2.0".parse().unwrap(),
            published_at: Some(UnixTime(published_at)),
            versions: 3,
            state: None,
            is_documented: true,
            description: "A network".to_owned(),
        }
    }

    pub(in crate::index) fn symbol(name: &str) -> CatalogSymbol {
        CatalogSymbol {
            kind: DocumentationKind::Resource,
            name: format!("acme_{name}"),
            package: Package::Provider("acme/acme".parse().unwrap()),
            version: "1.0.0".parse().unwrap(),
            page: name.parse().ok(),
        }
    }

    #[test]
    fn the_metadata_of_a_card_is_short_and_ascii() {
        let mut long = line("vpc", 1);
        long.description = "é😀".repeat(CARD_BYTES / 30);
        let text = long.to_metadata();
        assert!(text.is_ascii());
        assert_eq!(CatalogLine::parse(&text), Some(long.clone()));
        long.description = "é".repeat(CARD_BYTES);
        let text = long.to_metadata();
        assert!(text.len() <= CARD_BYTES);
        assert_eq!(CatalogLine::parse(&text).unwrap().description, "");
    }

    proptest! {
        #[test]
        fn a_description_is_parsed_as_written(description in "\\PC{0,200}") {
            let line = CatalogLine { description, ..line("vpc", 1) };
            prop_assert_eq!(CatalogLine::parse(&line.to_line()), Some(line.clone()));
            prop_assert_eq!(CatalogLine::parse(&in_ascii(&line.to_line())), Some(line));
        }
    }
}
