//! The words of a query in the interfaces of modules.

use super::Query;
use super::place::{Place, Rank};
use crate::index::words::WordTable;

/// The places of a query's words in the interfaces of the packages of one text.
pub(super) struct Interfaces<'t> {
    /// For each word of the query, the best place in each package; empty if no package has it.
    places: Vec<Vec<Option<Place<'t>>>>,
}

impl<'t> Interfaces<'t> {
    /// Looks up the words of a query, in a table of the words of `packages` packages.
    pub(super) fn of(query: &Query, table: WordTable<'t>, packages: usize) -> Self {
        let places = query.words().iter();
        Self {
            places: places
                .map(|word| places_of(word, table, packages))
                .collect(),
        }
    }

    /// Returns the place of the query's word with this number in a package.
    pub(super) fn place(&self, word: usize, package: usize) -> Option<Place<'t>> {
        *self.places.get(word)?.get(package)?
    }
}

fn places_of<'t>(word: &str, table: WordTable<'t>, packages: usize) -> Vec<Option<Place<'t>>> {
    let mut places = Vec::new();
    for (found, packages_with_it) in table.beginning_with(word) {
        places.resize(packages, None);
        for it in packages_with_it {
            let rank = match (found == word, it.is_of_submodule) {
                (true, false) => Rank::Interface,
                (true, true) => Rank::Submodules,
                (false, _) => Rank::InterfacePart,
            };
            let place = Place { rank, word: found };
            if let Some(best) = places.get_mut(it.package) {
                *best = Some(best.map_or(place, |best: Place<'t>| best.min(place)));
            }
        }
    }
    places
}
