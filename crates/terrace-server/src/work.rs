//! Work of a thread that must be completed before the thread ends.

use std::cell::Cell;
use std::rc::Rc;

use tokio::sync::Notify;

/// The number of pieces of work that are under way.
#[derive(Debug, Default)]
pub(crate) struct Work {
    under_way: Cell<usize>,
    ended: Notify,
}

/// A piece of work, which ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Piece(Rc<Work>);

impl Work {
    /// Begins a piece of work.
    pub(crate) fn begin(self: &Rc<Self>) -> Piece {
        self.under_way.set(self.under_way.get() + 1);
        Piece(Rc::clone(self))
    }

    /// Returns the number of pieces of work that are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way.get()
    }

    /// Waits until none is under way.
    pub(crate) async fn completed(&self) {
        while self.under_way.get() > 0 {
            self.ended.notified().await;
        }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.0.under_way.set(self.0.under_way.get() - 1);
        // One thread waits, and after every end it looks again.
        self.0.ended.notify_one();
    }
}
