//! The catalogue: packages and symbols, each on a line of its own, so that a search reads lines and parses only those
//! that match.
//!
//! ```text
//! catalog/{owner}            a line for each package
//! symbols/{owner}            a line for each symbol
//! merged-catalog/{number}    a header, lines of packages, an empty line, lines of symbols, an empty line, and, in
//!                            the first part, the lines of the packages that were published last, the newest first
//! ```
//!
//! The header has the lengths of the sections, because a search that looked for their ends would read the text twice.
//! A line is a JSON array, which contains no names of fields that a search could match.

use serde::{Deserialize, Serialize};

use crate::documentation::{DocumentationKind, PageName};
use crate::limits;
use crate::model::package::Package;
use crate::model::status::ReleaseState;
use crate::model::version::Version;
use crate::storage::index_document::IndexDocument;
use terrace_base::json;
use terrace_base::time::UnixTime;

/// Maximum length of a package's line in the metadata of its card: the limit of R2 for all metadata of an object is
/// 8,192 bytes (<https://developers.cloudflare.com/r2/platform/limits/>), and a page of a listing holds 1,000 of them.
const CARD_BYTES: usize = 2_048;

/// Number of packages that the catalogue lists as the newest: two lists of `MAX_LISTED_AT_ONCE`, about 40 KB of the
/// 2 MB that 5,000 packages take.
const CATALOG_NEWEST: usize = 200;

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
    /// The description, on one line, of at most [`limits::CATALOG_DESCRIPTION_BYTES`].
    pub description: String,
    /// The names of some inputs of a module.
    pub inputs: Vec<String>,
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
    Vec<String>,
);

/// The stored form of a [`CatalogSymbol`].
#[derive(Serialize, Deserialize)]
struct SymbolLine(DocumentationKind, String, String, Version, Option<PageName>);

/// The first line of a part of the merged catalogue.
#[derive(Serialize, Deserialize)]
struct MergedHeader {
    /// The number of parts.
    parts: u8,
    /// The length of the lines of packages, in bytes.
    packages: usize,
    /// The length of the lines of symbols, in bytes.
    symbols: usize,
}

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
            self.inputs.clone(),
        ))
    }

    /// Parses a stored line; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let Line(package, latest, published_at, versions, state, documented, description, inputs) =
            serde_json::from_slice(text.as_bytes()).ok()?;
        Some(Self {
            package: Package::parse_key(&package)?,
            latest,
            published_at,
            versions,
            state,
            is_documented: documented != 0,
            description,
            inputs,
        })
    }

    /// Returns the line for the metadata of an object, which is ASCII, of at most `CARD_BYTES`. If it is
    /// longer, it has fewer inputs, and then no description.
    pub fn to_metadata(&self) -> String {
        let mut line = self.clone();
        loop {
            let text = in_ascii(&line.to_line());
            if text.len() <= CARD_BYTES {
                return text;
            }
            if line.inputs.pop().is_none() {
                line.description.clear();
            }
        }
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

/// Returns the index of an owner's packages. The order of the lines does not matter.
pub fn catalog(lines: &[CatalogLine]) -> IndexDocument {
    IndexDocument::new(sorted(lines.iter().map(CatalogLine::to_line)).join("\n"))
}

/// Returns the index of an owner's symbols. Their order does not matter.
pub fn symbols(symbols: &[CatalogSymbol]) -> IndexDocument {
    IndexDocument::new(sorted(symbols.iter().map(CatalogSymbol::to_line)).join("\n"))
}

fn sorted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.collect();
    terrace_base::sort::sort_by(&mut lines, Ord::cmp);
    lines
}

/// Returns the parts of the merged catalogue, each at most [`limits::CATALOG_PART_BYTES`] long. The order of the
/// arguments does not matter. Packages that do not fit into [`limits::CATALOG_PARTS`] parts are left out, after all
/// symbols.
pub fn merged(packages: &[CatalogLine], symbols: &[CatalogSymbol]) -> Vec<IndexDocument> {
    let mut parts = vec![Part::default()];
    for line in sorted(packages.iter().map(CatalogLine::to_line)) {
        if !add(&mut parts, line, |part| &mut part.packages) {
            break;
        }
    }
    for line in sorted(symbols.iter().map(CatalogSymbol::to_line)) {
        if !add(&mut parts, line, |part| &mut part.symbols) {
            break;
        }
    }
    let count = u8::try_from(parts.len()).unwrap_or(u8::MAX);
    let mut newest = newest(packages);
    let document = |part: Part| {
        let sections = [part.packages, part.symbols, std::mem::take(&mut newest)];
        let [packages, symbols, newest] = sections.map(|lines| lines.join("\n"));
        let header = json::to_string(&MergedHeader {
            parts: count,
            packages: packages.len(),
            symbols: symbols.len(),
        });
        IndexDocument::new(format!("{header}\n{packages}\n\n{symbols}\n\n{newest}"))
    };
    parts.into_iter().map(document).collect()
}

/// A part of the merged catalogue.
#[derive(Default)]
struct Part {
    packages: Vec<String>,
    symbols: Vec<String>,
    bytes: usize,
}

/// Adds a line to the last part, or to a new one; returns `false` if it has no room.
fn add(parts: &mut Vec<Part>, line: String, lines: fn(&mut Part) -> &mut Vec<String>) -> bool {
    let needed = line.len() + 1;
    let is_full = parts
        .last()
        .is_none_or(|part| part.bytes + needed > limits::CATALOG_PART_BYTES);
    if is_full {
        if parts.len() >= limits::CATALOG_PARTS {
            return false;
        }
        parts.push(Part::default());
    }
    if let Some(part) = parts.last_mut() {
        part.bytes += needed;
        lines(part).push(line);
    }
    true
}

/// Returns the lines of the packages that were published last.
fn newest(packages: &[CatalogLine]) -> Vec<String> {
    let mut dated: Vec<&CatalogLine> = packages
        .iter()
        .filter(|line| line.published_at.is_some())
        .collect();
    terrace_base::sort::sort_by(&mut dated, |one, other| {
        let key = |line: &CatalogLine| {
            (
                std::cmp::Reverse(line.published_at),
                line.package.to_string(),
            )
        };
        key(one).cmp(&key(other))
    });
    dated.truncate(CATALOG_NEWEST);
    dated.into_iter().map(CatalogLine::to_line).collect()
}

/// The text of a part of the merged catalogue, or of one owner's, as sections of lines.
#[derive(Debug, Clone, Copy)]
pub struct CatalogText<'t> {
    /// The lines of packages.
    pub packages: &'t str,
    /// The lines of symbols.
    pub symbols: &'t str,
}

/// A part of the merged catalogue, as a read finds it.
#[derive(Debug, Clone, Copy)]
pub struct MergedPart<'t> {
    /// The number of parts.
    pub parts: u8,
    /// The lines of this part.
    pub text: CatalogText<'t>,
    newest: &'t str,
}

impl<'t> MergedPart<'t> {
    /// Splits a part into its sections, of which it parses none; `None` for any other text.
    pub fn parse(text: &'t str) -> Option<Self> {
        let (header, rest) = text.split_once('\n')?;
        let MergedHeader {
            parts,
            packages,
            symbols,
        } = serde_json::from_slice(header.as_bytes()).ok()?;
        let (packages, rest) = rest.split_at_checked(packages)?;
        let (symbols, rest) = rest.strip_prefix("\n\n")?.split_at_checked(symbols)?;
        Some(Self {
            parts,
            text: CatalogText { packages, symbols },
            newest: rest.strip_prefix("\n\n")?,
        })
    }

    /// Parses the packages that were published last, the newest first; none in another part than the first.
    pub fn newest(&self) -> impl Iterator<Item = CatalogLine> {
        self.newest.lines().filter_map(CatalogLine::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinned::assert_pinned;
    use proptest::prelude::*;

    fn line(name: &str, published_at: u64) -> CatalogLine {
        CatalogLine {
            package: Package::Module(format!("acme/{name}/aws").parse().unwrap()),
            latest: "1.2.0".parse().unwrap(),
            published_at: Some(UnixTime(published_at)),
            versions: 3,
            state: None,
            is_documented: true,
            description: "A network".to_owned(),
            inputs: vec!["cidr".to_owned()],
        }
    }

    fn symbol(name: &str) -> CatalogSymbol {
        CatalogSymbol {
            kind: DocumentationKind::Resource,
            name: format!("acme_{name}"),
            package: Package::Provider("acme/acme".parse().unwrap()),
            version: "1.0.0".parse().unwrap(),
            page: name.parse().ok(),
        }
    }

    #[test]
    fn the_lines_are_pinned() {
        let deprecated = CatalogLine {
            state: Some(ReleaseState::Deprecated),
            ..line("vpc", 1_700_000_000)
        };
        assert_pinned(
            &deprecated.to_line(),
            r#"["modules/acme/vpc/aws","1.2.0",1700000000,3,"deprecated",1,"A network",["cidr"]]"#,
        );
        assert_eq!(CatalogLine::parse(&deprecated.to_line()), Some(deprecated));
        assert_pinned(
            &symbol("widget").to_line(),
            r#"["resources","acme_widget","providers/hosted/acme/acme","1.0.0","widget"]"#,
        );
        assert_eq!(
            CatalogSymbol::parse(&symbol("widget").to_line()),
            Some(symbol("widget"))
        );
    }

    #[test]
    fn the_metadata_of_a_card_is_short_and_ascii() {
        let mut long = line("vpc", 1);
        long.description = "é😀".repeat(CARD_BYTES / 30);
        long.inputs = vec!["a_long_name_of_an_input".repeat(4); 30];
        let text = long.to_metadata();
        assert!(
            text.is_ascii() && text.len() <= CARD_BYTES,
            "{}",
            text.len()
        );
        let parsed = CatalogLine::parse(&text).unwrap();
        assert_eq!(parsed.description, long.description);
        assert!(parsed.inputs.len() < 30);
        long.description = "é".repeat(CARD_BYTES);
        let parsed = CatalogLine::parse(&long.to_metadata()).unwrap();
        assert_eq!((parsed.description.as_str(), parsed.inputs.len()), ("", 0));
    }

    #[test]
    fn a_merged_catalogue_has_every_package_and_symbol() {
        let packages = [line("b", 2), line("a", 3), line("c", 1)];
        let parts = merged(&packages, &[symbol("y"), symbol("x")]);
        let part = MergedPart::parse(&parts[0].text).unwrap();
        assert_eq!((parts.len(), part.parts), (1, 1));
        let newest: Vec<CatalogLine> = part.newest().collect();
        let text = part.text;
        assert_eq!(newest, [line("a", 3), line("b", 2), line("c", 1)]);
        let found: Vec<CatalogLine> = text
            .packages
            .lines()
            .filter_map(CatalogLine::parse)
            .collect();
        assert_eq!(found, [line("a", 3), line("b", 2), line("c", 1)]);
        let found: Vec<CatalogSymbol> = text
            .symbols
            .lines()
            .filter_map(CatalogSymbol::parse)
            .collect();
        assert_eq!(found, [symbol("x"), symbol("y")]);
    }

    #[test]
    fn an_empty_catalogue_has_one_part() {
        let parts = merged(&[], &[]);
        let MergedPart { parts, text, .. } = MergedPart::parse(&parts[0].text).unwrap();
        assert_eq!((parts, text.packages, text.symbols), (1, "", ""));
    }

    #[test]
    fn a_large_catalogue_is_split_into_parts() {
        let mut large = line("vpc", 1);
        large.description = "x".repeat(1_000_000);
        let packages = vec![large; 20];
        let parts = merged(&packages, &[]);
        assert_eq!(parts.len(), 3);
        let count = |part: &IndexDocument| {
            MergedPart::parse(&part.text)
                .unwrap()
                .text
                .packages
                .lines()
                .count()
        };
        assert_eq!(parts.iter().map(count).sum::<usize>(), 20);
        let newest = |part: &IndexDocument| MergedPart::parse(&part.text).unwrap().newest().count();
        assert_eq!(parts.iter().map(newest).collect::<Vec<_>>(), [20, 0, 0]);
    }

    #[test]
    fn a_part_with_wrong_lengths_is_rejected() {
        let parts = merged(&[line("vpc", 1)], &[symbol("x")]);
        let text = &parts[0].text;
        assert!(MergedPart::parse(text).is_some());
        for (from, to) in [
            ("\"packages\":", "\"packages\":1"),
            ("\"symbols\":", "\"symbols\":9"),
        ] {
            let other = text.replace(from, to);
            assert_ne!(*text, other);
            assert!(MergedPart::parse(&other).is_none(), "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(
            text in "(?s).{0,200}",
            header in r#"\{"parts":1,"packages":[0-9]{1,2},"symbols":[0-9]{1,2}\}\n"#,
        ) {
            let _ = MergedPart::parse(&text).map(|part| part.newest().count());
            let _ = MergedPart::parse(&format!("{header}{text}"));
            let _ = CatalogLine::parse(&text);
            let _ = CatalogSymbol::parse(&text);
        }

        #[test]
        fn a_description_is_parsed_as_written(description in "\\PC{0,200}") {
            let line = CatalogLine { description, inputs: Vec::new(), ..line("vpc", 1) };
            prop_assert_eq!(CatalogLine::parse(&line.to_line()), Some(line.clone()));
            prop_assert_eq!(CatalogLine::parse(&in_ascii(&line.to_line())), Some(line));
        }
    }
}
