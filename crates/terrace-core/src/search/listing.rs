//! Lists of namespaces and packages.

use std::collections::BTreeMap;

use super::SearchKind;
use super::candidates::{Visible, owner_in, package_in, package_lines};
use crate::index::catalog::CatalogText;
use crate::model::owner::Owner;

/// The numbers of packages of an owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NamespaceCount {
    /// The number of modules.
    pub modules: u32,
    /// The number of providers.
    pub providers: u32,
}

/// Returns the owners of the packages in a catalogue that are visible to the caller.
pub fn namespaces(
    texts: &[CatalogText<'_>],
    is_visible: &dyn Fn(&Owner) -> bool,
) -> BTreeMap<String, NamespaceCount> {
    let mut counts: BTreeMap<String, NamespaceCount> = BTreeMap::new();
    let mut visible = Visible::new(is_visible);
    for text in texts {
        for line in package_lines(text.packages, None, &mut visible) {
            let key = package_in(line).unwrap_or_default();
            let owner = owner_in(key).to_ascii_lowercase();
            let count = counts.entry(owner).or_default();
            match key.starts_with("modules/") {
                true => count.modules += 1,
                false => count.providers += 1,
            }
        }
    }
    counts
}

/// Returns the lines of packages of a kind that are visible to the caller, each with its key.
pub fn packages<'t>(
    texts: &[CatalogText<'t>],
    kind: Option<SearchKind>,
    is_visible: &dyn Fn(&Owner) -> bool,
) -> Vec<(&'t str, &'t str)> {
    let mut visible = Visible::new(is_visible);
    let mut lines = Vec::new();
    for text in texts {
        let found = package_lines(text.packages, kind, &mut visible);
        lines.extend(found.filter_map(|line| Some((package_in(line)?, line))));
    }
    lines
}
