//! Lists of namespaces and packages.

use std::collections::{BTreeMap, BTreeSet};

use super::SearchKind;
use super::candidates::{Visible, is_package_of, lines, owner_in, package_in};
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
    // Packages of an owner follow each other.
    let mut current: (&str, NamespaceCount) = Default::default();
    for (key, _) in packages(texts, None, is_visible) {
        let owner = owner_in(key);
        if current.0 != owner {
            add(&mut counts, std::mem::take(&mut current));
            current.0 = owner;
        }
        match key.starts_with("modules/") {
            true => current.1.modules += 1,
            false => current.1.providers += 1,
        }
    }
    add(&mut counts, current);
    counts
}

fn add(counts: &mut BTreeMap<String, NamespaceCount>, (owner, more): (&str, NamespaceCount)) {
    if owner.is_empty() {
        return;
    }
    let count = counts.entry(owner.to_ascii_lowercase()).or_default();
    count.modules += more.modules;
    count.providers += more.providers;
}

/// Returns the lines of packages of a kind that are visible to the caller, each with its key. They are found when they are
/// needed.
pub fn packages<'t>(
    texts: &[CatalogText<'t>],
    kind: Option<SearchKind>,
    is_visible: &dyn Fn(&Owner) -> bool,
) -> impl Iterator<Item = (&'t str, &'t str)> {
    let mut visible = Visible::new(is_visible);
    let lines = texts.iter().flat_map(|text| lines(text.packages));
    let keyed = lines.filter_map(|line| Some((package_in(line)?, line)));
    keyed.filter(move |(key, _)| is_package_of(key, kind) && visible.has(key))
}

/// Returns the lines of the packages that call one of these addresses and are visible to the caller, each with its key.
pub fn callers<'t>(
    texts: &[CatalogText<'t>],
    addresses: &[String],
    is_visible: &dyn Fn(&Owner) -> bool,
) -> Vec<(&'t str, &'t str)> {
    let mut visible = Visible::new(is_visible);
    let mut callers = Vec::new();
    for text in texts {
        let places = addresses.iter().flat_map(|it| text.words.places_of(it));
        let numbers: BTreeSet<usize> = places.map(|it| it.package).collect();
        let lines = lines(text.packages).enumerate();
        let lines = lines.filter(|(number, _)| numbers.contains(number));
        let keyed = lines.filter_map(|(_, line)| Some((package_in(line)?, line)));
        callers.extend(keyed.filter(|(key, _)| visible.has(key)));
    }
    callers
}
