//! Pages that do not exist.

use super::{as_reader, opened};
use crate::native::api::packages::published;
use crate::support::people::LOGIN;

const MISSING: [&str; 2] = [
    "/providers/acme/widget/9.9.9",
    "/providers/acme/widget/1.1.0/docs/resources/gone",
];
const VERSIONS: &str = "href=\"/providers/acme/widget/versions\"";

#[test]
fn a_missing_version_or_document_leads_to_its_package() {
    let (memory, registry) = published(&[]);
    for path in MISSING {
        memory.forget_operations();
        let page = registry.send(&opened(path)).expect(404).text();
        assert!(page.contains(VERSIONS), "{path}: {page}");
        let operations = memory.operations();
        let last = "KV get providers/hosted/acme/widget/overview";
        let reads = operations.iter().filter(|it| *it == last).count();
        assert_eq!(reads, 1, "{path}: {operations:?}");
        assert_eq!(operations.last().map(String::as_str), Some(last));
    }
    let unknown = registry.send(&opened("/providers/acme/gone/1.0.0"));
    assert!(!unknown.expect(404).text().contains("/versions\""));
}

#[test]
fn a_missing_version_of_a_hidden_package_leads_nowhere() {
    let vars = [&LOGIN[..], &[("TERRACE_ACCESS_EXCEPT", "acme")]].concat();
    let (_, registry) = published(&vars);
    let page = registry.send(&opened(MISSING[0])).expect(404).text();
    assert!(!page.contains(VERSIONS), "{page}");
    as_reader(&registry, MISSING[0]).shows(404, VERSIONS);
}

#[test]
fn a_sign_in_leads_back_to_the_part_of_a_list_that_was_open() {
    let vars = [&LOGIN[..], &[("TERRACE_ACCESS_EXCEPT", "secret")]].concat();
    let (_, registry) = published(&vars);
    for (path, to) in [
        (
            "/search?q=vpc&kind=module",
            "%2Fsearch%3Fq%3Dvpc%26kind%3Dmodule",
        ),
        (
            "/browse/providers?after=aaa",
            "%2Fbrowse%2Fproviders%3Fafter%3Daaa",
        ),
        (
            "/namespaces/gone?after=x",
            "%2Fnamespaces%2Fgone%3Fafter%3Dx",
        ),
    ] {
        let page = registry.send(&opened(path)).text();
        let link = format!("href=\"/sign-in?to={to}\"");
        assert!(page.contains(&link), "{path}: {page}");
    }
}
