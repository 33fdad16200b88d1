use proptest::prelude::*;

use super::*;
use crate::documentation::DocumentationKind;
use crate::index::catalog::{self, MergedPart, merged};
use crate::model::package::Package;
use crate::model::status::ReleaseState;
use terrace_base::time::UnixTime;

fn line(key: &str, description: &str, inputs: &[&str]) -> CatalogLine {
    CatalogLine {
        package: Package::parse_key(key).unwrap(),
        latest: "1.0.0".parse().unwrap(),
        published_at: Some(UnixTime(7)),
        versions: 1,
        state: None,
        is_documented: true,
        description: description.to_owned(),
        inputs: inputs.iter().map(|it| (*it).to_owned()).collect(),
    }
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

fn packages() -> Vec<CatalogLine> {
    vec![
        line(
            "modules/acme/network/aws",
            "Subnets and gateways",
            &["cidr_block"],
        ),
        line(
            "modules/acme/vpc/aws",
            "A virtual \"private\" cloud",
            &["cidr"],
        ),
        line(
            "modules/globex/vpc-endpoints/aws",
            "Endpoints of a network",
            &[],
        ),
        line("modules/globex/subvpc/gcp", "", &[]),
        CatalogLine {
            state: Some(ReleaseState::Deprecated),
            ..line("modules/acme/old-vpc/aws", "", &[])
        },
        line(
            "providers/hosted/acme/cloud",
            "The cloud of Acme; a vpc for each",
            &[],
        ),
        line("providers/registry.example.com/acme/vpc", "Mirrored", &[]),
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
        Match::Package(line) => line.package.address(),
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
            "data-sources cloud_instance",
            "resources cloud_instance",
            "resources cloud_db_instance",
            "resources cloud_instances_group",
        ]
    );
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
        let search = Search {
            kind: Some(kind.parse().unwrap()),
            ..search(query)
        };
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
fn a_kind_is_named_in_the_singular_or_the_plural() {
    for (singular, plural) in [
        ("module", "modules"),
        ("provider", "providers"),
        ("resource", "resources"),
        ("data-source", "data-sources"),
        ("state-store", "state-stores"),
    ] {
        let kind = singular.parse::<SearchKind>();
        assert!(kind.is_ok(), "{singular}");
        assert_eq!(plural.parse(), kind);
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
    let only: Vec<CatalogLine> = packages()
        .into_iter()
        .filter(|line| line.package.to_string().starts_with("modules/globex/"))
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
    for query in ["vpc", "acme", "a", "cloud", "instance"] {
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
        "", "a", "a0", "a0~x", "b0~x~", "a5~x~", "a00~x~", "é0~x~", "d-1~x~",
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

#[test]
fn namespaces_are_counted_by_owner() {
    let part = &merged(&packages(), &[])[0];
    let MergedPart { text, .. } = MergedPart::parse(&part.text).unwrap();
    let is_visible = |owner: &Owner| owner.to_string() != "globex";
    let counts = namespaces(&[text], &is_visible);
    let counts: Vec<_> = counts
        .iter()
        .map(|(owner, it)| (owner.as_str(), it.modules, it.providers))
        .collect();
    assert_eq!(
        counts,
        [("acme", 3, 1), ("registry.example.com/acme", 0, 1)]
    );
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
        let lines: Vec<CatalogLine> = descriptions
            .iter()
            .enumerate()
            .map(|(at, description)| line(&format!("modules/x{at}/y/z"), description, &[]))
            .collect();
        let document = catalog::catalog(&lines);
        let text = CatalogText { packages: &document.text, symbols: "" };
        let search = Search { query: query.clone(), kind: None, system: None, after: None, offset: 0, limit: 100 };
        let found = search.run(&[text], &|_| true);
        let mut expected: Vec<String> = lines
            .iter()
            .filter(|line| {
                let lower = line.description.to_lowercase();
                query.words().iter().all(|word| lower.contains(word))
            })
            .map(|line| line.package.address())
            .collect();
        expected.sort_unstable();
        prop_assert_eq!(names(&found), expected);
    }

    /// A page is small, so most lines of a large catalogue are not parsed.
    #[test]
    fn a_page_is_a_part_of_all_results(
        described in prop::collection::vec(("[abx]{1,2}(-[abx]{1,2})?", "[ab ]{0,4}", any::<bool>()), 1..80),
        query in "[abx]{1,2}( [ab])?",
        offset in 0_usize..8,
        limit in 1_usize..6,
    ) {
        let package = |(at, (name, description, is_old)): (usize, &(String, String, bool))| CatalogLine {
            state: is_old.then_some(ReleaseState::Deprecated),
            ..line(&format!("modules/n{}/{name}/s{at}", at % 3), description, &[])
        };
        let lines: Vec<CatalogLine> = described.iter().enumerate().map(package).collect();
        let symbol = |(name, ..): &(String, String, bool)| symbol(DocumentationKind::Resource, name);
        let symbols: Vec<CatalogSymbol> = described.iter().map(symbol).collect();
        let part = &merged(&lines, &symbols)[0];
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
        let texts = [CatalogText { packages: &text, symbols: &text }];
        let _ = search("a").run(&texts, &|_| true);
        let _ = (namespaces(&texts, &|_| true), super::packages(&texts, None, &|_| true).count());
        let _ = text.parse::<Cursor>();
    }
}
