//! Searches in a catalogue of 5,000 packages and 5,000 symbols in 100 namespaces.

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group};
use terrace_base::time::UnixTime;
use terrace_core::documentation::DocumentationKind;
use terrace_core::index::catalog::{CatalogLine, CatalogSymbol, CatalogText, MergedPart, merged};
use terrace_core::model::package::Package;
use terrace_core::search::{Results, Search};
use terrace_core::storage::index_document::IndexDocument;

const NAMESPACES: usize = 100;
const PACKAGES: usize = 50;

const WORDS: [&str; 12] = [
    "network", "subnet", "gateway", "cluster", "database", "queue", "bucket", "policy", "secret",
    "record", "alarm", "function",
];

/// A search, and the catalogue that it reads.
pub(crate) struct Request {
    search: Search,
    parts: Vec<IndexDocument>,
}

#[library_benchmark]
#[bench::a_word_of_some_names(Request::of("gateway"))]
#[bench::two_words(Request::of("queue bucket"))]
#[bench::a_symbol(Request::of("cloud_network_17"))]
#[bench::nothing(Request::of("xylophone"))]
#[bench::a_word_in_every_line(Request::of("team"))]
fn search(request: Request) -> (Results, Request) {
    let texts = request.parts.iter();
    let texts = texts.map(|part| MergedPart::parse(&part.text).unwrap().text);
    let texts: Vec<CatalogText<'_>> = texts.collect();
    let results = black_box(&request.search).run(black_box(&texts), &|_| true);
    drop(texts);
    (results, request)
}

library_benchmark_group!(name = searches, benchmarks = [search]);

impl Request {
    fn of(query: &str) -> Self {
        let search = Search {
            query: query.parse().unwrap(),
            kind: None,
            after: None,
            system: None,
            offset: 0,
            limit: 20,
        };
        let parts = merged(&packages(), &symbols());
        Self { search, parts }
    }
}

fn word(at: usize) -> &'static str {
    WORDS.get(at % WORDS.len()).unwrap()
}

fn packages() -> Vec<CatalogLine> {
    let numbers = 0..NAMESPACES * PACKAGES;
    let line = |at: usize| CatalogLine {
        package: Package::parse_key(&format!(
            "modules/team{}/{}-{at}/aws",
            at % NAMESPACES,
            word(at / 7)
        ))
        .unwrap(),
        latest: "1.2.0".parse().unwrap(),
        published_at: Some(UnixTime(1_700_000_000)),
        versions: 12,
        state: None,
        is_documented: true,
        description: (0..12)
            .map(|it| word(at + it * at))
            .collect::<Vec<_>>()
            .join(" "),
        inputs: (0..10)
            .map(|it| format!("{}_{it}", word(at / 3 + it)))
            .collect(),
    };
    numbers.map(line).collect()
}

fn symbols() -> Vec<CatalogSymbol> {
    let symbol = |at: usize| CatalogSymbol {
        kind: DocumentationKind::Resource,
        name: format!("cloud_{}_{at}", word(at)),
        package: Package::parse_key(&format!("providers/hosted/team{}/cloud", at % NAMESPACES))
            .unwrap(),
        version: "3.1.0".parse().unwrap(),
        page: None,
    };
    (0..NAMESPACES * PACKAGES).map(symbol).collect()
}
