use proptest::prelude::*;

use super::*;
use crate::documentation::{Contents, DocumentationKind, Head};
use crate::index::card::{Card, ListedCard};
use crate::index::catalog::{self, MergedPart, merged};
use crate::model::package::Package;
use crate::model::status::ReleaseState;
use crate::model::version::Version;
use serde_json::json;
use terrace_base::time::UnixTime;

fn card(key: &str, description: &str, words: &str) -> ListedCard {
    let line = CatalogLine {
        package: Package::parse_key(key).unwrap(),
        latest: "1.0.0".parse().unwrap(),
        published_at: Some(UnixTime(7)),
        versions: 1,
        state: None,
        is_documented: true,
        description: description.to_owned(),
    };
    ListedCard {
        line,
        words: words.to_owned(),
        calls: String::new(),
        symbols: 0,
    }
}

/// Returns the card of a module with these inputs.
fn card_of_module(package: &Package, inputs: &[&str]) -> ListedCard {
    let inputs: Vec<_> = inputs.iter().map(|name| json!({ "name": name })).collect();
    let module = json!({ "root": { "inputs": inputs } });
    let head = Head::new(
        Contents::Module(serde_json::from_value(module).unwrap()),
        Vec::new(),
    );
    let version: Version = "1.0.0".parse().unwrap();
    let overview = json!({ "versions": [{ "version": version, "is_documented": true }] });
    let overview = serde_json::from_value(overview).unwrap();
    let card = Card::of(package, &overview, Some((&version, &head)));
    card.unwrap().listed()
}

fn old(mut card: ListedCard) -> ListedCard {
    card.line.state = Some(ReleaseState::Deprecated);
    card
}

fn symbol(kind: DocumentationKind, name: &str) -> CatalogSymbol {
    CatalogSymbol {
        kind,
        name: name.to_owned(),
        package: Package::parse_key("providers/hosted/acme/cloud").unwrap(),
        version: "1.0.0".parse().unwrap(),
        page: None,
    }
}

fn packages() -> Vec<ListedCard> {
    vec![
        card(
            "modules/acme/network/aws",
            "Subnets and gateways",
            "cidr block nat;peering",
        ),
        card(
            "modules/acme/vpc/aws",
            "A virtual \"private\" cloud",
            "cidr endpoints peering ways",
        ),
        card(
            "modules/globex/vpc-endpoints/aws",
            "Endpoints of a network",
            "native",
        ),
        card("modules/globex/subvpc/gcp", "", ""),
        old(card("modules/acme/old-vpc/aws", "", "")),
        card(
            "providers/hosted/acme/cloud",
            "The cloud of Acme; a vpc for each",
            "",
        ),
        card("providers/registry.example.com/acme/vpc", "Mirrored", ""),
    ]
}

fn symbols() -> Vec<CatalogSymbol> {
    vec![
        symbol(DocumentationKind::Resource, "cloud_instance"),
        symbol(DocumentationKind::Resource, "cloud_db_instance"),
        symbol(DocumentationKind::Resource, "cloud_instances_group"),
        symbol(DocumentationKind::DataSource, "cloud_instance"),
        symbol(DocumentationKind::Function, "odd\"name\\"),
    ]
}

fn search(query: &str) -> Search {
    Search {
        query: query.parse().unwrap(),
        kind: None,
        after: None,
        system: None,
        offset: 0,
        limit: 100,
    }
}

fn names(results: &Results) -> Vec<String> {
    let name = |found: &Match| match found {
        Match::Package(line, _) => line.package.address(),
        Match::Symbol(symbol) => format!("{} {}", symbol.kind, symbol.name),
    };
    results.matches.iter().map(name).collect()
}

fn found_by(search: &Search, is_visible: &dyn Fn(&Owner) -> bool) -> Results {
    let parts = merged(&packages(), &symbols());
    let texts: Vec<CatalogText<'_>> = parts
        .iter()
        .map(|part| MergedPart::parse(&part.text).unwrap().text)
        .collect();
    search.run(&texts, is_visible)
}

fn found(query: &str) -> Vec<String> {
    names(&found_by(&search(query), &|_| true))
}

#[test]
fn results_are_ranked_by_the_place_of_the_words() {
    assert_eq!(
        found("vpc"),
        [
            "acme/vpc/aws",
            "registry.example.com/acme/vpc",
            "globex/vpc-endpoints/aws",
            "globex/subvpc/gcp",
            "acme/cloud",
            "acme/old-vpc/aws",
        ]
    );
    assert_eq!(
        found("NETWORK"),
        ["acme/network/aws", "globex/vpc-endpoints/aws"]
    );
}

#[test]
fn the_exact_name_of_a_symbol_comes_first() {
    assert_eq!(
        found("cloud_instance"),
        [
            "resources cloud_instance",
            "data-sources cloud_instance",
            "resources cloud_db_instance",
            "resources cloud_instances_group",
        ]
    );
    // The prefix of the provider is no part of the name.
    assert_eq!(found("db_instance")[0], "resources cloud_db_instance");
    assert_eq!(
        found("instance"),
        [
            "resources cloud_instance",
            "data-sources cloud_instance",
            "resources cloud_db_instance",
            "resources cloud_instances_group",
        ]
    );
}

#[test]
fn the_interface_of_a_module_is_found_that_of_the_root_first() {
    assert_eq!(found("peering"), ["acme/vpc/aws", "acme/network/aws"]);
    assert_eq!(
        found("nat"),
        ["acme/network/aws", "globex/vpc-endpoints/aws"]
    );
    assert_eq!(found("ative"), [""; 0]);
    // The description of the other one has it within a word.
    assert_eq!(found("ways"), ["acme/vpc/aws", "acme/network/aws"]);
    let results = found_by(&search("aws_nat_subnets"), &|_| true);
    let [Match::Package(line, words)] = &results.matches[..] else {
        panic!("{results:?}");
    };
    assert_eq!(line.package.address(), "acme/network/aws");
    assert_eq!(words, &["nat"]);
}

/// The file has the inputs of terraform-aws-modules/vpc 6.6.0 and eks 21.19.0, and of oracle-terraform-modules/oke 5.4.3.
#[test]
fn each_input_of_large_modules_is_found() {
    let modules = include_str!("inputs.txt").lines().map(|line| {
        let (address, names) = line.split_once(' ').unwrap();
        (address, names.split(' ').collect::<Vec<_>>())
    });
    let modules: Vec<(&str, Vec<&str>)> = modules.collect();
    let cards = modules.iter().map(|(address, names)| {
        let package = Package::parse_key(&format!("modules/{address}")).unwrap();
        card_of_module(&package, names)
    });
    let parts = merged(&cards.collect::<Vec<_>>(), &[]);
    let text = MergedPart::parse(&parts[0].text).unwrap().text;
    for (address, names) in &modules {
        for name in names {
            let found = self::names(&search(name).run(&[text], &|_| true));
            assert!(found.contains(&(*address).to_owned()), "{name}: {found:?}");
        }
    }
}

#[test]
fn a_source_address_finds_its_package() {
    for address in [
        "acme/vpc/aws",
        "127.0.0.1:8860/acme/vpc/aws",
        "registry.example.org/acme/vpc/aws//modules/endpoints?ref=1.0",
        "localhost/acme/vpc/aws?ref=v1.0.0",
    ] {
        assert_eq!(found(address)[0], "acme/vpc/aws", "{address}");
    }
    let mirrored = "registry.example.com/acme/vpc";
    assert_eq!(found(mirrored), [mirrored]);
    assert_eq!(found("registry.example.org/acme/cloud")[0], "acme/cloud");
}

#[test]
fn a_plural_finds_the_singular_if_nothing_else_matches() {
    assert_eq!(found("vpcs"), found("vpc"));
    assert_eq!(found("dns"), [""; 0]);
}

#[test]
fn a_word_that_differs_by_one_edit_is_suggested_if_it_is_visible() {
    let globex = |owner: &Owner| owner.to_string() == "globex";
    let meant = |query: &str, is_visible: &dyn Fn(&Owner) -> bool| {
        let results = found_by(&search(query), is_visible);
        results.meant.map(|meant| meant.to_string())
    };
    let all = |query: &str| meant(query, &|_| true);
    for (query, expected) in [
        ("netwrok", Some("network")),
        ("endpints", Some("endpoints")),
        ("vpc pering", Some("vpc peering")),
        ("vpc_endpoint_nativ", None),
        ("xetwork", None),
        ("vpd", None),
        ("network nothing", None),
    ] {
        assert_eq!(all(query).as_deref(), expected, "{query}");
    }
    assert_eq!(meant("pering", &globex), None);
    assert_eq!(meant("natve", &globex).as_deref(), Some("native"));
}

#[test]
fn all_words_must_match() {
    assert_eq!(found("acme/vpc/aws"), ["acme/vpc/aws", "acme/old-vpc/aws"]);
    assert_eq!(found("vpc gateways"), Vec::<String>::new());
    assert_eq!(found("aws cidr-block"), ["acme/network/aws"]);
}

#[test]
fn names_of_json_do_not_match() {
    for query in ["hosted", "modules", "deprecated", "null", "1.0.0"] {
        assert_eq!(found(query), Vec::<String>::new(), "{query}");
    }
}

#[test]
fn a_text_with_escapes_is_found() {
    assert_eq!(found("\"private\""), ["acme/vpc/aws"]);
    assert_eq!(found("odd\"name\\"), ["functions odd\"name\\"]);
}

#[test]
fn a_kind_selects_its_results() {
    for (kind, expected) in [
        ("module", vec!["acme/network/aws"]),
        ("provider", vec!["acme/cloud"]),
        ("resource", vec!["resources cloud_db_instance"]),
        ("function", vec!["functions odd\"name\\"]),
    ] {
        let query = match kind {
            "module" => "network subnets",
            "provider" => "cloud",
            "resource" => "db",
            _ => "odd",
        };
        let plural = format!("{kind}s").parse().unwrap();
        let search = Search {
            kind: Some(kind.parse().unwrap()),
            ..search(query)
        };
        assert_eq!(search.kind, Some(plural));
        assert_eq!(names(&found_by(&search, &|_| true)), expected);
    }
    for kind in [
        "guide",
        "guides",
        "overview",
        "resourcess",
        "Module",
        "s",
        "",
    ] {
        assert!(kind.parse::<SearchKind>().is_err(), "{kind}");
    }
}

#[test]
fn a_system_selects_its_modules() {
    for (system, expected) in [
        ("gcp", vec!["globex/subvpc/gcp"]),
        ("vpc", vec![]),
        ("", vec![]),
    ] {
        let search = Search {
            kind: Some(SearchKind::Module),
            system: Some(system.to_owned()),
            ..search("vpc")
        };
        assert_eq!(names(&found_by(&search, &|_| true)), expected, "{system}");
    }
}

#[test]
fn a_hidden_owner_changes_nothing() {
    let is_visible = |owner: &Owner| owner.to_string() == "globex";
    let all = found_by(&search("vpc"), &is_visible);
    assert_eq!(
        names(&all),
        ["globex/vpc-endpoints/aws", "globex/subvpc/gcp"]
    );
    let only: Vec<ListedCard> = packages()
        .into_iter()
        .filter(|card| card.line.package.to_string().starts_with("modules/globex/"))
        .collect();
    let part = &merged(&only, &[])[0];
    let MergedPart { text, .. } = MergedPart::parse(&part.text).unwrap();
    for limit in 1..4 {
        let search = Search {
            limit,
            ..search("vpc")
        };
        assert_eq!(
            found_by(&search, &is_visible),
            search.run(&[text], &|_| true)
        );
    }
}

#[test]
fn pages_have_all_results_once() {
    for query in ["vpc", "acme", "a", "cloud", "instance", "peering"] {
        let all = found(query);
        for limit in 1..=all.len() + 1 {
            let mut search = Search {
                limit,
                ..search(query)
            };
            let mut seen = Vec::new();
            loop {
                let page = found_by(&search, &|_| true);
                assert!(page.matches.len() <= limit);
                seen.extend(names(&page));
                let Some(next) = page.next else { break };
                // A client sends the cursor as text.
                search.after = Some(next.to_string().parse().unwrap());
            }
            assert_eq!(seen, all, "{query} {limit}");
        }
    }
}

#[test]
fn a_cursor_of_another_form_is_rejected() {
    for text in [
        "", "a", "a0", "a0~x", "b0~x~", "a8~x~", "a00~x~", "é0~x~", "d-1~x~",
    ] {
        assert!(text.parse::<Cursor>().is_err(), "{text}");
    }
    let long = format!("a0~{}~", "a".repeat(crate::search::query::CURSOR_BYTES));
    assert!(long.parse::<Cursor>().is_err());
    let odd: Cursor = "d4~modules/a/b/c~resources/a~b".parse().unwrap();
    assert_eq!(odd.to_string(), "d4~modules/a/b/c~resources/a~b");
}

#[test]
fn a_query_without_words_or_with_too_many_is_rejected() {
    assert_eq!("".parse::<Query>(), Err(QueryError::Empty));
    assert_eq!(" /_-".parse::<Query>(), Err(QueryError::Empty));
    let many = "a ".repeat(crate::limits::SEARCH_WORDS + 1);
    assert_eq!(many.parse::<Query>(), Err(QueryError::TooManyWords(11)));
    let long = "a".repeat(crate::limits::SEARCH_BYTES + 1);
    assert_eq!(long.parse::<Query>(), Err(QueryError::TooLong(201)));
}

#[test]
fn every_second_piece_is_a_word_of_the_query() {
    for (text, query, expected) in [
        ("acme/vpc/aws", "vpc", vec!["acme/", "vpc", "/aws"]),
        ("VPC", "vpc", vec!["", "VPC"]),
        (
            "a vpc of vpcs",
            "vpc",
            vec!["a ", "vpc", " of ", "vpc", "s"],
        ),
        ("network", "net two work", vec!["", "network"]),
        ("Grüße, ÄRGER", "ärger", vec!["Grüße, ", "ÄRGER"]),
        ("nothing", "vpc", vec!["nothing"]),
        ("", "vpc", vec![""]),
    ] {
        assert_eq!(pieces(text, &query.parse().unwrap()), expected, "{text}");
    }
}

/// Generates a word of a query, in which letters are frequent and everything else is possible.
fn texts() -> impl Strategy<Value = String> {
    "[abAB é\"\\\\/_-]{0,12}"
}

proptest! {
    #[test]
    fn a_search_finds_the_lines_that_contain_all_words(
        descriptions in prop::collection::vec(texts(), 1..8), query in texts()
    ) {
        let Ok(query) = query.parse::<Query>() else { return Ok(()) };
        let cards: Vec<ListedCard> = descriptions
            .iter()
            .enumerate()
            .map(|(at, description)| card(&format!("modules/x{at}/y/z"), description, ""))
            .collect();
        let document = catalog::catalog(&cards);
        let text = MergedPart::parse(&document.text).unwrap().text;
        let search = Search { query: query.clone(), kind: None, system: None, after: None, offset: 0, limit: 100 };
        let found = search.run(&[text], &|_| true);
        let mut expected: Vec<String> = cards
            .iter()
            .map(|card| &card.line)
            .filter(|line| {
                let lower = line.description.to_lowercase();
                query.words().iter().all(|word| lower.contains(word))
            })
            .map(|line| line.package.address())
            .collect();
        expected.sort_unstable();
        let mut found = names(&found);
        found.sort_unstable();
        prop_assert_eq!(found, expected);
    }

    /// A page is small, so most lines of a large catalogue are not parsed.
    #[test]
    fn a_page_is_a_part_of_all_results(
        described in prop::collection::vec(("[abx]{1,2}(-[abx]{1,2})?", "[ab ]{0,4}", "[abx]{0,2}(;[abx]{1,2})?", any::<bool>()), 1..80),
        query in "[abx]{1,2}( [ab])?",
        offset in 0_usize..8,
        limit in 1_usize..6,
    ) {
        let package = |(at, (name, description, words, is_old)): (usize, &(String, String, String, bool))| {
            let card = card(&format!("modules/n{}/{name}/s{at}", at % 3), description, words);
            if *is_old { old(card) } else { card }
        };
        let cards: Vec<ListedCard> = described.iter().enumerate().map(package).collect();
        let symbol = |(name, ..): &(String, String, String, bool)| symbol(DocumentationKind::Resource, name);
        let symbols: Vec<CatalogSymbol> = described.iter().map(symbol).collect();
        let part = &merged(&cards, &symbols)[0];
        let text = MergedPart::parse(&part.text).unwrap().text;
        let all = Search { limit: 1_000, ..search(&query) };
        let all = all.run(&[text], &|_| true);
        prop_assert_eq!(&all.next, &None);
        let page = Search { offset, limit, ..search(&query) }.run(&[text], &|_| true);
        let rest = all.matches.get(offset..).unwrap_or_default();
        prop_assert_eq!(&page.matches[..], &rest[..limit.min(rest.len())]);
        prop_assert_eq!(page.next.is_some(), rest.len() > limit);
    }

    #[test]
    fn pieces_join_to_the_text(text in "\\PC{0,40}", query in "\\PC{1,5}") {
        let Ok(query) = query.parse::<Query>() else { return Ok(()) };
        let pieces = pieces(&text, &query);
        prop_assert_eq!(pieces.concat(), text);
        for piece in pieces.iter().skip(1).step_by(2) {
            prop_assert!(query.words().iter().any(|word| contains(piece, word)));
        }
    }

    #[test]
    fn no_stored_text_panics(text in "\\PC{0,200}", lines in "(\\[\"[a-z\"\\\\/,]{0,20}\n?){0,4}") {
        let text = format!("{lines}{text}");
        let texts = [CatalogText { packages: &text, symbols: &text, ..CatalogText::default() }];
        let _ = search("a").run(&texts, &|_| true);
        let _ = (namespaces(&texts, &|_| true), super::packages(&texts, None, &|_| true).count());
        let _ = text.parse::<Cursor>();
    }
}
