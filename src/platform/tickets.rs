//! Values that wait until JavaScript comes back for them.

use std::cell::{Cell, RefCell};

/// Maximum number of waiting values. A further one overwrites the oldest.
const SLOTS: u32 = 1024;

/// The waiting values, each under its ticket.
#[derive(Debug)]
pub(super) struct Tickets<T> {
    /// The value of a ticket is at the index `ticket % SLOTS`. If its client disconnected, it stays until it
    /// is overwritten. The values are boxed, so that all slots together take only a few KiB.
    slots: RefCell<Vec<Option<Box<Slot<T>>>>>,
    next: Cell<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    ticket: u32,
    value: T,
}

impl<T> Tickets<T> {
    /// Creates an empty store. The `first` ticket is any number: two instances of the wasm in one isolate,
    /// the older of which has failed, must not issue the same tickets.
    pub(super) fn new(first: u32) -> Self {
        Self {
            slots: RefCell::default(),
            next: Cell::new(first),
        }
    }

    /// Stores a value, and returns its ticket.
    pub(super) fn keep(&self, value: T) -> u32 {
        let ticket = self.next.get();
        self.next.set(ticket.wrapping_add(1));
        self.keep_as(ticket, value);
        ticket
    }

    /// Stores a value under the ticket of an earlier value, which was taken.
    pub(super) fn keep_as(&self, ticket: u32, value: T) {
        let slot = slot(ticket);
        let mut slots = self.slots.borrow_mut();
        if slots.len() <= slot {
            slots.resize_with(slot + 1, || None);
        }
        if let Some(slot) = slots.get_mut(slot) {
            *slot = Some(Box::new(Slot { ticket, value }));
        }
    }

    /// Takes the value of a ticket, if it is still there.
    pub(super) fn take(&self, ticket: u32) -> Option<T> {
        let mut slots = self.slots.borrow_mut();
        let slot = slots.get_mut(slot(ticket))?;
        let slot = slot.take_if(|slot| slot.ticket == ticket)?;
        Some(slot.value)
    }
}

fn slot(ticket: u32) -> usize {
    usize::try_from(ticket % SLOTS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_taken_once() {
        for first in [0, 7, u32::MAX] {
            let tickets = Tickets::new(first);
            let (one, two) = (tickets.keep("one"), tickets.keep("two"));
            assert_eq!(tickets.take(two), Some("two"));
            assert_eq!(tickets.take(one), Some("one"));
            assert_eq!([one, two].map(|it| tickets.take(it)), [None, None]);
            tickets.keep_as(one, "again");
            assert_eq!(tickets.take(one), Some("again"));
        }
    }

    /// A request must never get the answer of another one.
    #[test]
    fn an_overwritten_value_is_found_by_nobody() {
        let tickets = Tickets::new(0);
        let first = tickets.keep(0);
        let others: Vec<(u32, u32)> = (1..=SLOTS).map(|n| (tickets.keep(n), n)).collect();
        assert_eq!(tickets.take(first), None);
        for (ticket, value) in others {
            assert_eq!(tickets.take(ticket), Some(value));
        }
    }
}
