//! The lists that neither KV nor R2 had a short time ago.
//!
//! Clients repeat requests for packages that do not exist: each `terraform init` behind a network mirror asks for the list of
//! each provider, mirrored or not. KV is read each time; R2, which charges for the listing, is not. Only lists are remembered,
//! never versions, so that a client that has read a version in a list can always install it.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use terrace_base::time::UnixTime;
use terrace_core::limits::LIST_CACHE_SECONDS;
use terrace_core::storage::key::IndexKey;

/// Time for which an isolate remembers that neither KV nor R2 had a list, in seconds: as long as the edge may cache one that
/// exists (`LIST_CACHE_SECONDS`).
pub const ABSENCE_SECONDS: u64 = LIST_CACHE_SECONDS as u64;

/// How many absent lists an isolate remembers at most. An entry is a key and a time.
const REMEMBERED_ABSENCES: usize = 256;

/// The lists that one isolate did not find.
///
/// A list that is hidden from its caller is remembered like one that does not exist, but apart from it: the time of an answer
/// shows neither whether it exists nor whether other callers requested it.
#[derive(Debug, Default)]
pub struct Absences {
    /// A table of [`REMEMBERED_ABSENCES`] slots, empty until the first absence. A list has one slot, which it may lose to another.
    slots: RefCell<Vec<Option<Absence>>>,
    /// How often an index was written.
    writes: Cell<u64>,
    is_disabled: bool,
}

#[derive(Debug)]
struct Absence {
    key: IndexKey,
    is_hidden: bool,
    since: UnixTime,
}

/// The beginning of a search in R2.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    began: UnixTime,
    writes: u64,
}

impl Absences {
    /// Creates a memory that keeps nothing.
    pub(crate) fn disabled() -> Self {
        Self {
            is_disabled: true,
            ..Self::default()
        }
    }

    /// Returns whether R2 had nothing for a list in the last [`ABSENCE_SECONDS`].
    pub(crate) fn contain(&self, (key, is_hidden): (&IndexKey, bool), now: UnixTime) -> bool {
        let slots = self.slots.borrow();
        let slot = slots.get(slot_of(key, is_hidden));
        slot.and_then(Option::as_ref).is_some_and(|absence| {
            (&absence.key, absence.is_hidden) == (key, is_hidden)
                && now.since(absence.since) < ABSENCE_SECONDS
        })
    }

    /// Marks the beginning of a search in R2.
    pub(crate) fn begin_search(&self, began: UnixTime) -> Search {
        let writes = self.writes.get();
        Search { began, writes }
    }

    /// Remembers that a search found nothing, unless an index was written in the meantime.
    pub(crate) fn remember(&self, (key, is_hidden): (&IndexKey, bool), search: Search) {
        if self.is_disabled || search.writes != self.writes.get() {
            return;
        }
        let mut slots = self.slots.borrow_mut();
        slots.resize_with(REMEMBERED_ABSENCES, || None);
        if let Some(slot) = slots.get_mut(slot_of(key, is_hidden)) {
            *slot = Some(Absence {
                key: key.clone(),
                is_hidden,
                since: search.began,
            });
        }
    }

    /// Forgets all absences, because this isolate writes an index.
    pub(crate) fn forget(&self) {
        self.writes.set(self.writes.get().wrapping_add(1));
        self.slots.borrow_mut().clear();
    }
}

fn slot_of(key: &IndexKey, is_hidden: bool) -> usize {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one((key, is_hidden));
    let slots = u64::try_from(REMEMBERED_ABSENCES).unwrap_or(u64::MAX);
    usize::try_from(hash % slots).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn list(name: &str) -> IndexKey {
        IndexKey::parse(&format!("modules/acme/{name}/aws/versions")).unwrap()
    }

    fn remembering(key: &IndexKey, is_hidden: bool) -> Absences {
        let absences = Absences::default();
        absences.remember((key, is_hidden), absences.begin_search(NOW));
        absences
    }

    #[test]
    fn a_hidden_list_and_a_missing_one_are_remembered_apart() {
        let (vpc, other) = (list("vpc"), list("other"));
        for is_hidden in [false, true] {
            let absences = remembering(&vpc, is_hidden);
            assert!(absences.contain((&vpc, is_hidden), NOW));
            assert!(!absences.contain((&vpc, !is_hidden), NOW));
            assert!(!absences.contain((&other, is_hidden), NOW));
        }
    }

    #[test]
    fn a_write_forgets_all_absences_and_the_searches_before_it() {
        let (vpc, other) = (list("vpc"), list("other"));
        let absences = remembering(&vpc, false);
        let search = absences.begin_search(NOW);
        absences.forget();
        absences.remember((&other, false), search);
        for key in [&vpc, &other] {
            assert!(!absences.contain((key, false), NOW), "{key}");
        }
    }

    #[test]
    fn a_disabled_memory_keeps_nothing() {
        let (vpc, absences) = (list("vpc"), Absences::disabled());
        absences.remember((&vpc, false), absences.begin_search(NOW));
        assert!(!absences.contain((&vpc, false), NOW));
    }

    #[test]
    fn no_number_of_absences_takes_more_slots() {
        let absences = Absences::default();
        for number in 0..10 * REMEMBERED_ABSENCES {
            let key = list(&format!("n{number}"));
            absences.remember((&key, false), absences.begin_search(NOW));
            assert!(absences.contain((&key, false), NOW));
        }
        assert_eq!(absences.slots.borrow().len(), REMEMBERED_ABSENCES);
    }
}
