//! The card of a package: its line in the catalogue, the words of its interface, its calls, and its symbols. It is stored as a
//! fact, so that a listing of cards is enough to build the catalogue.

use serde::{Deserialize, Serialize};

use super::calls;
use super::catalog_line::{CatalogLine, CatalogSymbol};
pub use super::description::first_paragraph;
use super::description::{one_line, plain_line};
use super::overview::{Overview, OverviewVersion};
use super::words;
use crate::documentation::{Contents, DocumentationKind, Head, ModuleDetails, ProviderDetails};
use crate::limits;
use crate::model::package::Package;
use crate::model::status::ReleaseState;
use crate::model::version::Version;
use terrace_base::json;

/// The metadata name of the line.
const LINE: &str = "line";
/// The metadata name of the words; missing if there are none.
const WORDS: &str = "words";
/// The metadata name of the calls; missing if there are none.
const CALLS: &str = "calls";
/// The metadata name of the number of symbols; missing if there are none.
const SYMBOLS: &str = "symbols";

/// The entry of a package in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Its line.
    pub line: CatalogLine,
    /// The words of the interface of a module, as [`words`] describes them.
    pub words: String,
    /// The calls of a module, as [`calls`] describes them.
    pub calls: String,
    /// The symbols of its newest documented version.
    pub symbols: Vec<CatalogSymbol>,
}

/// The data of a card in the metadata of its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedCard {
    /// Its line.
    pub line: CatalogLine,
    /// The words of the interface of a module.
    pub words: String,
    /// The calls of a module.
    pub calls: String,
    /// The number of its symbols, which are in its document.
    pub symbols: usize,
}

/// The effect of writing a card; that of several writes is the greatest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CardChange {
    /// The stored card was the expected one.
    Unchanged,
    /// The card was written.
    Written,
    /// The card was removed, or lost its symbols: indices that were built from it may have to be removed.
    Shrunk,
}

/// The stored form of a [`Card`]: its lines as texts.
#[derive(Serialize, Deserialize)]
struct CardDocument {
    line: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    words: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    calls: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    symbols: Vec<String>,
}

/// Returns the version with the documentation that describes the package: the newest documented one that can be
/// installed.
pub fn described_version(overview: &Overview) -> Option<&Version> {
    let documented: Vec<OverviewVersion> = overview
        .versions
        .iter()
        .filter(|it| it.is_documented)
        .cloned()
        .collect();
    let documented = Overview {
        status: None,
        versions: documented,
    };
    let version = documented.newest()?.version.clone();
    overview.version(&version).map(|it| &it.version)
}

impl Card {
    /// Returns the card of a package; `None` if it has no versions. `described` is the
    /// [version that describes it](described_version) with the head of its documentation.
    pub fn of(
        package: &Package,
        overview: &Overview,
        described: Option<(&Version, &Head)>,
    ) -> Option<Self> {
        let latest = overview.newest().or_else(|| overview.versions.first())?;
        let status = overview.status.as_ref().or(latest.status.as_ref());
        let contents = described.map(|(version, head)| (version, &head.contents));
        let mut line = CatalogLine {
            package: package.clone(),
            latest: latest.version.clone(),
            published_at: latest.published_at,
            versions: u32::try_from(overview.versions.len()).unwrap_or(u32::MAX),
            state: status.map(|status| status.state),
            is_documented: latest.is_documented,
            description: String::new(),
        };
        let (mut words, mut calls) = Default::default();
        let mut symbols = Vec::new();
        match contents {
            Some((_, Contents::Module(module))) => {
                line.description = module_description(module);
                words = words::of_module(module);
                calls = calls::of_module(module);
            }
            Some((version, Contents::Provider(provider))) => {
                line.description = provider_description(provider);
                if line.state < Some(ReleaseState::Revoked) {
                    symbols = symbols_of(package, version, provider);
                }
            }
            None => {}
        }
        Some(Self {
            line,
            words,
            calls,
            symbols,
        })
    }

    /// Returns whether a listed line is that of this overview, apart from the texts of the documentation.
    pub fn is_line_of(line: &CatalogLine, package: &Package, overview: &Overview) -> bool {
        let Some(mut expected) = Self::of(package, overview, None) else {
            return false;
        };
        expected.line.description.clone_from(&line.description);
        expected.line == *line
    }

    /// Parses a stored card; `None` for any other bytes.
    pub fn from_document(bytes: &[u8]) -> Option<Self> {
        let CardDocument {
            line,
            words,
            calls,
            symbols,
        } = serde_json::from_slice(bytes).ok()?;
        let symbols = symbols.iter().map(|line| CatalogSymbol::parse(line));
        Some(Self {
            line: CatalogLine::parse(&line)?,
            words,
            calls,
            symbols: symbols.collect::<Option<_>>()?,
        })
    }

    /// Returns the card as it is stored. Its line is the one in its metadata.
    pub fn to_document(&self) -> String {
        json::to_string(&CardDocument {
            line: self.line.to_metadata(),
            words: self.words.clone(),
            calls: self.calls.clone(),
            symbols: self.symbols.iter().map(CatalogSymbol::to_line).collect(),
        })
    }

    /// Returns the metadata of its object.
    pub fn metadata(&self) -> Vec<(&'static str, String)> {
        let mut metadata = vec![(LINE, self.line.to_metadata())];
        if !self.words.is_empty() {
            metadata.push((WORDS, self.words.clone()));
        }
        if !self.calls.is_empty() {
            metadata.push((CALLS, self.calls.clone()));
        }
        if !self.symbols.is_empty() {
            metadata.push((SYMBOLS, self.symbols.len().to_string()));
        }
        metadata
    }

    /// Returns the data that the metadata of its object contains.
    pub fn listed(&self) -> ListedCard {
        ListedCard {
            line: self.line.clone(),
            words: self.words.clone(),
            calls: self.calls.clone(),
            symbols: self.symbols.len(),
        }
    }
}

impl ListedCard {
    /// Parses the metadata of a card's object; `None` if it has no line.
    pub fn from_metadata<'a>(metadata: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        Some(Self {
            line: CatalogLine::parse(metadata(LINE)?)?,
            words: metadata(WORDS).unwrap_or_default().to_owned(),
            calls: metadata(CALLS).unwrap_or_default().to_owned(),
            symbols: metadata(SYMBOLS).map_or(0, |number| {
                // The card has symbols, whatever the number.
                number.parse().unwrap_or(limits::DOCUMENTATION_SYMBOLS)
            }),
        })
    }
}

/// Returns the description of a module: the first prose of its README.
pub fn module_description(module: &ModuleDetails) -> String {
    let readme = module.root.readme.as_deref();
    readme.map(first_paragraph).unwrap_or_default()
}

/// Returns the description of a provider: that of its first page.
pub fn provider_description(provider: &ProviderDetails) -> String {
    let mut pages = provider.pages.iter();
    let overview = pages.find(|page| page.kind == DocumentationKind::Overview);
    let description = overview.and_then(|page| page.description.as_deref());
    description.map(plain_line).unwrap_or_default()
}

fn symbols_of(
    package: &Package,
    version: &Version,
    provider: &ProviderDetails,
) -> Vec<CatalogSymbol> {
    let symbol = |symbol: &crate::documentation::Symbol| CatalogSymbol {
        kind: symbol.kind,
        name: one_line(&symbol.name),
        package: package.clone(),
        version: version.clone(),
        page: symbol.page.clone(),
    };
    let symbols = provider.symbols.iter().map(symbol);
    let named = symbols.filter(|symbol| !symbol.name.is_empty());
    named.take(limits::DOCUMENTATION_SYMBOLS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documentation::{Input, Member, ModulePart, NamedPart, ProviderPage, Symbol};
    use crate::model::status::ReleaseStatus;
    use terrace_base::time::UnixTime;

    fn status(state: ReleaseState) -> ReleaseStatus {
        ReleaseStatus {
            state,
            reason: "a test".parse().unwrap(),
            at: UnixTime(1),
            by: "root".to_owned(),
        }
    }

    fn version(text: &str, is_documented: bool) -> OverviewVersion {
        OverviewVersion {
            published_at: Some(UnixTime(7)),
            is_documented,
            ..OverviewVersion::new(text.parse().unwrap())
        }
    }

    fn overview(versions: Vec<OverviewVersion>) -> Overview {
        Overview {
            status: None,
            versions,
        }
    }

    fn module() -> Package {
        Package::Module("acme/vpc/aws".parse().unwrap())
    }

    fn input(name: &str, default: Option<&str>) -> Input {
        Input {
            name: name.to_owned(),
            constraint: None,
            description: None,
            default: default.map(str::to_owned),
            is_sensitive: false,
            is_ephemeral: false,
            is_nullable: None,
            deprecated: None,
        }
    }

    fn submodule(inputs: Vec<Input>) -> NamedPart {
        let part = ModulePart {
            inputs,
            ..ModulePart::default()
        };
        NamedPart {
            name: "logs".parse().unwrap(),
            part,
            files: Vec::new(),
        }
    }

    fn details() -> Head {
        let mut details = ModuleDetails::default();
        details.root.readme = Some("# VPC\n\nCreates größere networks.\n".to_owned());
        details.root.inputs = vec![input("azs", Some("[]")), input("cidr", None)];
        details.submodules = vec![submodule(vec![input("flow_cidr", None)])];
        Head::new(Contents::Module(details), Vec::new())
    }

    fn navigation() -> Head {
        let page = ProviderPage {
            kind: DocumentationKind::Overview,
            name: "index".parse().unwrap(),
            title: "Acme".to_owned(),
            subcategory: None,
            description: Some("Manages\n<b>widgets</b>.".to_owned()),
            member: Member {
                offset: 0,
                length: 1,
                size: 1,
            },
            is_truncated: false,
            is_generated: false,
        };
        let symbol = Symbol {
            kind: DocumentationKind::Resource,
            name: "acme_widget".to_owned(),
            page: "widget".parse().ok(),
            arguments: None,
        };
        let details = ProviderDetails {
            pages: vec![page],
            symbols: vec![symbol],
            arguments: None,
        };
        Head::new(Contents::Provider(details), Vec::new())
    }

    #[test]
    fn a_card_is_read_as_written() {
        let provider = Package::Provider("acme/acme".parse().unwrap());
        let overview = overview(vec![version("2.0.0", false), version("1.0.0", true)]);
        let described = described_version(&overview).unwrap();
        assert_eq!(described.to_string(), "1.0.0");
        for (package, head) in [(module(), details()), (provider, navigation())] {
            let card = Card::of(&package, &overview, Some((described, &head))).unwrap();
            let metadata = card.metadata();
            let value = |name: &str| {
                let found = metadata.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.as_str())
            };
            let is_module = matches!(package, Package::Module(_));
            let words = is_module.then_some("azs cidr logs;flow");
            assert_eq!(value("words"), words);
            assert_eq!(ListedCard::from_metadata(value), Some(card.listed()));
            let stored = card.to_document();
            assert_eq!(Card::from_document(stored.as_bytes()), Some(card));
        }
    }

    #[test]
    fn a_card_without_documentation_has_the_newest_version_and_its_status() {
        let mut overview = overview(vec![version("1.1.0", false), version("1.0.0", false)]);
        overview.versions[0].status = Some(status(ReleaseState::Revoked));
        overview.versions[1].status = Some(status(ReleaseState::Withdrawn));
        assert_eq!(described_version(&overview), None);
        let card = Card::of(&module(), &overview, None).unwrap();
        assert_eq!(card.line.latest.to_string(), "1.0.0");
        assert_eq!(card.line.state, Some(ReleaseState::Withdrawn));
        overview.status = Some(status(ReleaseState::Deprecated));
        let card = Card::of(&module(), &overview, None).unwrap();
        assert_eq!(card.line.state, Some(ReleaseState::Deprecated));
        assert!(card.line.description.is_empty() && card.symbols.is_empty());
    }

    #[test]
    fn a_package_without_installable_versions_is_listed_as_revoked() {
        let mut overview = overview(vec![version("1.0.0", true)]);
        overview.versions[0].status = Some(status(ReleaseState::Revoked));
        assert_eq!(described_version(&overview), None);
        let card = Card::of(&module(), &overview, None).unwrap();
        assert_eq!(card.line.state, Some(ReleaseState::Revoked));
    }

    #[test]
    fn a_package_without_versions_has_no_card() {
        assert_eq!(Card::of(&module(), &Overview::default(), None), None);
    }

    #[test]
    fn a_limited_number_of_symbols_is_listed() {
        let Contents::Provider(mut details) = navigation().contents else {
            panic!("it is a provider");
        };
        let symbol = details.symbols.remove(0);
        details.symbols = vec![symbol; limits::DOCUMENTATION_SYMBOLS + 1];
        let head = Head::new(Contents::Provider(details), Vec::new());
        let provider = Package::Provider("acme/acme".parse().unwrap());
        let overview = overview(vec![version("1.0.0", true)]);
        let described = described_version(&overview).unwrap();
        let card = Card::of(&provider, &overview, Some((described, &head))).unwrap();
        assert_eq!(card.symbols.len(), limits::DOCUMENTATION_SYMBOLS);
    }

    #[test]
    fn the_words_of_the_root_have_room_first() {
        let mut details = ModuleDetails::default();
        let inputs = |name: &str| {
            (0..200)
                .map(|at| input(&format!("{name}_{name}{at}"), None))
                .collect()
        };
        details.submodules = vec![submodule(inputs("other"))];
        details.root.inputs = inputs("root");
        let words = words::of_module(&details);
        assert!((2_000..=2_048).contains(&words.len()), "{}", words.len());
        let (root, others) = words.split_once(';').unwrap();
        assert!(root.ends_with(" root199 logs") && others.starts_with("other other0 "));
    }
}
