//! Sorting that is compiled once for all types. The standard library's sorts are instantiated for each sorted
//! type, at 4 to 10 KiB of wasm each: with them the Worker is 55 KiB larger (21 KiB compressed), and its start takes 1 to
//! 2 ms more of CPU (24 ms beyond an empty Worker without them). Here only the comparison is generic: the sort itself runs on positions.
//! That is slower for thousands of items, so the items of version lists are sorted by the standard library.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Sorts items in ascending order. The sort is stable.
pub fn sort<T: Ord>(items: &mut Vec<T>) {
    sort_by(items, Ord::cmp);
}

/// Sorts items by `compare`. The sort is stable.
pub fn sort_by<T>(items: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
    let by_place = |items: &[T], one: usize, other: usize| {
        match (items.get(one), items.get(other)) {
            (Some(one), Some(other)) => compare(one, other),
            // Unreachable: every position is in range.
            _ => Ordering::Equal,
        }
    };
    if items.len() <= FEW {
        for end in 1..items.len() {
            let mut at = end;
            while at > 0 && by_place(items, at, at - 1).is_lt() {
                items.swap(at, at - 1);
                at -= 1;
            }
        }
        return;
    }
    let mut places: Vec<usize> = (0..items.len()).collect();
    sort_places(&mut places, &|one, other| by_place(items, one, other));
    let mut unsorted: Vec<Option<T>> = std::mem::take(items).into_iter().map(Some).collect();
    let taken = |place: usize| unsorted.get_mut(place)?.take();
    items.extend(places.into_iter().filter_map(taken));
}

/// Maximum number of items sorted in place by insertion, such as the scopes of a token or the platforms of a
/// version.
const FEW: usize = 16;

/// Sorts positions. No two positions are equal, so the smaller unstable sort suffices.
fn sort_places(places: &mut [usize], compare: &dyn Fn(usize, usize) -> Ordering) {
    places.sort_unstable_by(|one, other| compare(*one, *other).then(one.cmp(other)));
}

/// Collects entries into a map; the last entry with a key wins. `collect` would sort the entries first.
pub fn map<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(entries);
    map
}

/// Collects items into a set. `collect` would sort the items first.
pub fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_order_matches_that_of_the_standard_library(pairs in vec((0_u8..9, any::<u32>()), 0..4 * FEW)) {
            let (mut all, mut by_first) = (pairs.clone(), pairs.clone());
            sort(&mut all);
            sort_by(&mut by_first, |one, other| one.0.cmp(&other.0));
            let (mut expected, mut expected_by_first) = (pairs.clone(), pairs.clone());
            expected.sort();
            expected_by_first.sort_by_key(|pair| pair.0);
            prop_assert_eq!(all, expected);
            prop_assert_eq!(by_first, expected_by_first);
            prop_assert_eq!(map(pairs.clone()), pairs.iter().copied().collect());
            prop_assert_eq!(set(pairs.clone()), pairs.into_iter().collect());
        }
    }
}
