//! Every check, in the order of the output. docs/doctor.md has a section for each.

use super::check::Run::{Local, Remote};
use super::check::{Check, Run};
use super::outcome::Group;
use super::{
    access, admin, clocks, discovery, downloads, edge, local, modules, oci, providers, transport,
};

const fn check(id: &'static str, group: Group, title: &'static str, run: Run) -> Check {
    Check {
        id,
        group,
        title,
        run,
    }
}

/// The checks. A title is at most 50 characters long, so that it fits a narrow terminal.
#[rustfmt::skip]
pub(super) const CHECKS: &[Check] = &[
    check("L1", Group::Local, "client configuration is valid", Local(local::files)),
    check("L2", Group::Local, "TF_TOKEN_ variables name their hosts", Local(local::variables)),
    check("L3", Group::Local, "stored tokens are read", Local(local::stored_tokens)),
    check("L5", Group::Local, "network mirrors have valid URLs", Local(local::mirrors)),
    check("L7", Group::Local, ".netrc does not change requests", Local(local::netrc)),
    check("L8", Group::Local, "proxy settings are valid", Local(local::proxies)),
    check("L9", Group::Local, "certificate authorities are known", Local(local::certificates)),

    check("T1", Group::Transport, "the registry can be reached", Remote(transport::reaches)),
    check("T2", Group::Transport, "its certificate is trusted", Remote(transport::trusts)),

    check("S1", Group::Discovery, "discovery answers at this host", Remote(discovery::answers)),
    check("S2", Group::Discovery, "discovery is JSON", Remote(discovery::is_json)),
    check("S3", Group::Discovery, "services are named", Remote(discovery::names_services)),
    check("S4", Group::Discovery, "services can be reached by clients", Remote(discovery::names_itself)),

    check("C1", Group::Clocks, "the registry's clock agrees", Remote(clocks::of_registry)),
    check("C2", Group::Clocks, "the storage's clock agrees", Remote(clocks::of_storage)),

    check("A1", Group::Access, "writes need a token", Remote(access::refuses_writes)),
    check("A2", Group::Access, "private packages are hidden", Remote(access::hides)),
    check("A3", Group::Access, "terraform login is usable", Remote(access::offers_sign_in)),
    check("A4", Group::Access, "the token is valid", Remote(access::describes_token)),

    check("P1", Group::Providers, "versions are listed", Remote(providers::lists)),
    check("P2", Group::Providers, "a package is signed and complete", Remote(providers::delivers)),
    check("P3", Group::Providers, "clients accept its key without warnings", Remote(providers::suits_all_clients)),
    check("P4", Group::Providers, "a missing provider is 404", Remote(providers::misses)),

    check("M1", Group::Modules, "versions are listed", Remote(modules::lists)),
    check("M2", Group::Modules, "a module has a location", Remote(modules::locates)),
    check("M3", Group::Modules, "a missing module is 404", Remote(modules::misses)),

    check("O1", Group::Oci, "OCI clients are answered", Remote(oci::answers)),
    check("O2", Group::Oci, "a provider has a manifest", Remote(oci::has_manifest)),

    check("D1", Group::Downloads, "archives need no token", Remote(downloads::opens)),
    check("D2", Group::Downloads, "HEAD states the true length", Remote(downloads::answers_head)),
    check("D3", Group::Downloads, "archives arrive unchanged", Remote(downloads::keeps_bytes)),
    check("D4", Group::Downloads, "archives can be unpacked", Remote(downloads::unpacks)),

    check("W1", Group::Edge, "all user agents are treated alike", Remote(edge::treats_agents_alike)),

    check("R1", Group::Storage, "the registry checks itself", Remote(admin::answers)),
    check("R2", Group::Storage, "settings are valid", Remote(admin::has_valid_settings)),
    check("R3", Group::Storage, "settings are safe", Remote(admin::has_safe_settings)),
    check("R4", Group::Storage, "URLs of archives can be signed", Remote(admin::signs_urls)),

    check("K1", Group::Indices, "storage answers", Remote(admin::is_healthy)),
    check("K2", Group::Indices, "the periodic repair runs", Remote(admin::repairs)),
    check("K3", Group::Indices, "indices agree with the facts", Remote(admin::agree)),
    check("K4", Group::Indices, "the audit log is complete", Remote(admin::has_whole_log)),
    check("K5", Group::Indices, "the second bucket has everything", Remote(admin::has_copy)),

    check("U1", Group::Upstream, "pulled registries answer", Remote(admin::reaches_origins)),
    check("U2", Group::Upstream, "issuers of tokens answer", Remote(admin::reaches_issuers)),

    check("V1", Group::Versions, "registry and command are of one version", Remote(admin::is_of_same_version)),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The most characters of a title that fit 60 columns beside its mark and ID.
    const TITLE_CHARS: usize = 50;

    #[test]
    fn ids_are_unique_and_begin_with_the_letter_of_their_group() {
        let mut ids = BTreeSet::new();
        for check in CHECKS {
            let number = check.id.strip_prefix(check.group.letter()).unwrap();
            assert!(number.parse::<u32>().is_ok(), "{}", check.id);
            assert!(ids.insert(check.id), "{}", check.id);
            assert!(check.title.chars().count() <= TITLE_CHARS, "{}", check.id);
        }
        for group in Group::ALL {
            assert!(
                CHECKS.iter().any(|it| it.group == group),
                "{}",
                group.letter()
            );
        }
    }

    fn page(name: &str) -> String {
        let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn every_id_has_a_section_and_every_section_an_id() {
        let page = page("doctor.md");
        let sections: Vec<&str> = page.split("\n### ").skip(1).collect();
        let described = sections.iter().map(|it| it.lines().next().unwrap());
        let ids = CHECKS.iter().map(|check| check.id);
        assert_eq!(described.collect::<Vec<_>>(), ids.collect::<Vec<_>>());
        for (check, section) in CHECKS.iter().zip(sections) {
            let id = check.id;
            assert!(section.contains(&format!("\n*{}*\n", check.title)), "{id}");
            for part in ["**Symptom:** ", "**Cause:** ", "**Fix:** "] {
                assert!(section.contains(part), "{id}: {part}");
            }
        }
    }

    #[test]
    fn every_row_of_the_troubleshooting_names_a_check_or_why_none_finds_it() {
        let page = page("troubleshooting.md");
        let rows = page
            .lines()
            .filter(|line| line.starts_with("| ") && !line.starts_with("| symptom"));
        let mut count = 0;
        for row in rows {
            count += 1;
            let cell = row.trim_end_matches(" |").rsplit_once(" | ").unwrap().1;
            if let Some(reason) = cell.strip_prefix("no: ") {
                assert!(reason.len() > 10, "{row}");
                continue;
            }
            for link in cell.split(", ") {
                let (id, anchor) = link.split_once("](").unwrap_or_else(|| panic!("{row}"));
                let id = id.strip_prefix('[').unwrap();
                assert!(CHECKS.iter().any(|check| check.id == id), "{row}");
                assert_eq!(anchor, format!("doctor.md#{})", id.to_lowercase()), "{row}");
            }
        }
        assert!(count > 60, "{count}");
    }
}
