//! The room for the rows of a page.

use std::cell::Cell;

use maud::{Markup, PreEscaped};

use super::banner;
use crate::limits::ROWS_BYTES;

/// The room that is left for rows, in bytes of HTML; `None` once a row was left out.
pub(crate) struct Room(Cell<Option<usize>>);

impl Room {
    pub(crate) fn new() -> Self {
        Self(Cell::new(Some(ROWS_BYTES)))
    }

    /// Returns the rows of things, without the first that does not fit and all after it.
    pub(crate) fn rows<T>(
        &self,
        things: impl IntoIterator<Item = T>,
        row: impl Fn(T) -> Markup,
    ) -> Markup {
        let mut html = String::new();
        for thing in things {
            let Some(left) = self.0.get() else { break };
            let row = row(thing).into_string();
            let left = left.checked_sub(row.len());
            if left.is_some() {
                html.push_str(&row);
            }
            self.0.set(left);
        }
        PreEscaped(html)
    }

    /// Returns the notice about rows that were left out, if there are any.
    pub(crate) fn notice(&self) -> Markup {
        match self.0.get() {
            Some(_) => Markup::default(),
            None => banner::cut_text(),
        }
    }
}
