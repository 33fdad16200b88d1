//! The attributes of a tag. Names are constants of this crate, values are escaped.

use crate::escape::push_attribute;

/// Attributes as they stand in a tag, each with a space in front.
#[derive(Default)]
pub(super) struct Attributes(String);

impl Attributes {
    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.0.extend([" ", name, "=\""]);
        push_attribute(&mut self.0, value);
        self.0.push('"');
        self
    }

    /// Adds an attribute unless its value is empty.
    pub(super) fn with_text(self, name: &'static str, value: &str) -> Self {
        if value.is_empty() {
            self
        } else {
            self.with(name, value)
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}
