//! Every check, in the order of the output.

use super::finding::Judged;
use super::target::Target;
use super::{access, connection, downloads, local, packages, stated};
use crate::credentials::ClientConfiguration;
use crate::error::Failure;

/// The function of a check.
#[derive(Clone, Copy)]
pub(super) enum Run {
    /// Looks at this machine, and perhaps at its settings for the registry.
    Local(fn(&ClientConfiguration, Option<&Target>) -> Judged),
    /// Looks at the registry.
    Remote(fn(&Target) -> Judged),
}

use Run::{Local, Remote};

/// A check.
pub(super) struct Check {
    /// The letter of a group and a number. It never changes, and no other check gets it after the check is removed.
    pub(super) id: &'static str,
    /// The statement that is true if the check passes.
    pub(super) title: &'static str,
    pub(super) run: Run,
}

impl Check {
    /// Returns the letter of its group.
    pub(super) fn group(&self) -> &'static str {
        self.id.get(..1).unwrap_or_default()
    }

    fn is_named(&self, name: &str) -> bool {
        [self.id, self.group()]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(name))
    }
}

/// The groups of checks: the letter that their IDs begin with, and the heading.
pub(super) const GROUPS: [(&str, &str); 12] = [
    ("L", "This machine"),
    ("T", "Connection"),
    ("S", "Discovery"),
    ("C", "Clocks"),
    ("A", "Access"),
    ("P", "Providers"),
    ("M", "Modules"),
    ("D", "Downloads"),
    ("W", "Edge"),
    ("R", "Configuration and storage"),
    ("K", "Indices"),
    ("U", "Other services"),
];

const fn check(id: &'static str, title: &'static str, run: Run) -> Check {
    Check { id, title, run }
}

/// The checks. A title is at most 50 characters long, so that it fits a narrow terminal.
/// `docs/troubleshooting.md` has a row for each, and `explain.txt` its explanation.
#[rustfmt::skip]
pub(super) const CHECKS: &[Check] = &[
    check("L1", "client configuration is valid", Local(local::files)),
    check("L2", "TF_TOKEN_ variables name their hosts", Local(local::variables)),
    check("L5", "network mirrors have valid URLs", Local(local::mirrors)),
    check("L7", ".netrc does not change requests", Local(local::netrc)),
    check("L8", "host blocks have a mirror for providers", Local(local::hosts)),
    check("L9", "host blocks replace no other service in use", Local(local::signed_in_hosts)),

    check("T1", "the registry can be reached", Remote(connection::reaches)),
    check("S1", "discovery names the services", Remote(connection::discovers)),
    check("C1", "the registry's clock agrees", Remote(connection::registry_clock)),
    check("C2", "the storage's clock agrees", Remote(connection::storage_clock)),

    check("A1", "writes need a token", Remote(access::refuses_writes)),
    check("A3", "terraform login is usable", Remote(access::offers_sign_in)),
    check("A4", "the token is valid", Remote(access::describes_token)),

    check("P1", "versions are listed", Remote(packages::lists_provider)),
    check("P2", "a package is signed and complete", Remote(packages::delivers)),
    check("P3", "clients accept its key without warnings", Remote(packages::suits_all_clients)),
    check("P4", "a missing provider is 404", Remote(packages::misses_provider)),
    check("M1", "versions are listed", Remote(packages::lists_module)),
    check("M2", "a module has a location", Remote(packages::locates)),
    check("M3", "a missing module is 404", Remote(packages::misses_module)),

    check("D1", "archives need no token", Remote(downloads::opens)),
    check("D2", "HEAD states the true length", Remote(downloads::answers_head)),
    check("D3", "archives arrive unchanged", Remote(downloads::keeps_bytes)),
    check("W1", "all user agents are treated alike", Remote(connection::treats_agents_alike)),

    check("R1", "the registry checks itself", Remote(stated::answers)),
    check("R3", "settings and rules are safe", Remote(stated::has_safe_settings)),
    check("R4", "URLs of archives can be signed", Remote(stated::signs_urls)),
    check("K1", "storage answers", Remote(stated::is_healthy)),
    check("K2", "the periodic repair runs", Remote(stated::repairs)),
    check("K3", "indices agree with the facts", Remote(stated::agree)),
    check("K5", "the second bucket has everything", Remote(stated::has_copy)),
    check("U1", "pulled registries answer", Remote(stated::reaches_origins)),
    check("U2", "issuers of tokens answer", Remote(stated::reaches_issuers)),
];

/// Returns the checks that `--only` and `--skip` leave, in the order of the table.
///
/// # Errors
/// A name that is neither the ID of a check nor the letter of a group, or a selection without checks.
pub(super) fn selected(only: &[String], skip: &[String]) -> Result<Vec<&'static Check>, Failure> {
    for (option, names) in [("--only", only), ("--skip", skip)] {
        for name in names.iter().map(|it| it.trim()) {
            if !CHECKS.iter().any(|check| check.is_named(name)) {
                return Err(unknown(option, name));
            }
        }
    }
    let names = |names: &[String], check: &Check| names.iter().any(|it| check.is_named(it.trim()));
    let is_selected =
        |check: &&Check| (only.is_empty() || names(only, check)) && !names(skip, check);
    let selected: Vec<&'static Check> = CHECKS.iter().filter(is_selected).collect();
    match selected.is_empty() {
        true => Err(Failure::Usage(
            "--only and --skip leave no check".to_owned(),
        )),
        false => Ok(selected),
    }
}

/// Returns the failure of an option that names no check.
pub(super) fn unknown(option: &str, name: &str) -> Failure {
    let known: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
    let known = known.join(", ");
    Failure::Usage(format!(
        "{option}: {name:?} is not a check: write one of {known}"
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::explanation::{EXPLANATIONS, explanation};
    use super::*;

    #[test]
    fn ids_are_unique_of_a_group_described_on_the_page_and_explained() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/troubleshooting.md");
        let page = std::fs::read_to_string(path).unwrap();
        let mut ids = BTreeSet::new();
        for Check { id, title, .. } in CHECKS {
            assert!(ids.insert(id), "{id}");
            assert!(title.chars().count() <= 50, "{id}");
            let row = format!("| {id} | {title} |\n");
            assert!(page.contains(&row), "{row}");
        }
        let (_, rows) = page.split_once("| ID | passes if |\n|---|---|\n").unwrap();
        assert_eq!(rows.lines().count(), CHECKS.len());
        let groups: BTreeSet<&str> = CHECKS.iter().map(Check::group).collect();
        assert_eq!(groups, GROUPS.iter().map(|(letter, _)| *letter).collect());
        let explained = EXPLANATIONS
            .split("\n\n")
            .filter_map(|it| it.lines().next());
        let checks = CHECKS.iter().map(|check| check.id);
        assert_eq!(explained.collect::<Vec<_>>(), checks.collect::<Vec<_>>());
        assert!(CHECKS.iter().all(|it| explanation(it.id).is_some()));
    }
}
