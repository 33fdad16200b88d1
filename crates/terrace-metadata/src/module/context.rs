//! The declarations of a directory, and the file that they are read from.

use std::collections::BTreeMap;

use terrace_core::documentation::{
    Input, ModuleCall, Output, ProviderRequirement, Resource, ResourceMode,
};

use crate::configuration::{Attribute, Block};
use crate::draft::Warning;
use crate::limits;
use crate::text::{self, Messages, cut, shown};

/// The declarations of a directory, by their names.
#[derive(Debug, Default)]
pub(super) struct Declarations {
    pub(super) inputs: BTreeMap<String, Input>,
    pub(super) outputs: BTreeMap<String, Output>,
    pub(super) resources: BTreeMap<(ResourceMode, String, String), Resource>,
    pub(super) providers: BTreeMap<String, ProviderRequirement>,
    pub(super) required_versions: Vec<String>,
    pub(super) calls: BTreeMap<String, ModuleCall>,
}

/// The file that declarations are read from.
pub(super) struct FileContext<'c> {
    pub(super) path: &'c str,
    pub(super) is_override: bool,
    pub(super) errors: &'c mut Vec<String>,
    pub(super) notes: &'c mut Messages,
}

impl FileContext<'_> {
    pub(super) fn error(&mut self, line: Option<usize>, message: impl Into<String>) {
        let warning = Warning {
            file: shown(self.path),
            line,
            message: message.into(),
        };
        let error = warning.to_string();
        let error = text::characters(&error, limits::NOTE_CHARS);
        self.errors.push(error.into_owned());
    }

    /// Returns the only label of a block.
    pub(super) fn name(&mut self, block: &Block<'_>) -> Option<String> {
        let label = block.label().map(str::to_owned);
        if label.is_none() {
            self.error(block.line, format!("{} must have one name", block.kind));
        }
        label
    }

    /// Returns the declaration with the name of a block, to add the attributes of the block to. The first block declares it
    /// as `undescribed`.
    pub(super) fn declaration<'d, T>(
        &mut self,
        declarations: &'d mut BTreeMap<String, T>,
        block: &Block<'_>,
        undescribed: impl FnOnce(String) -> T,
    ) -> Option<&'d mut T> {
        let name = self.name(block)?;
        if !self.may_add(block, &name, declarations.contains_key(&name)) {
            return None;
        }
        let entry = declarations.entry(name.clone());
        Some(entry.or_insert_with(|| undescribed(name)))
    }

    /// Returns whether a declaration may be added: an override changes an existing one, any other file declares it once.
    pub(super) fn may_add(&mut self, block: &Block<'_>, name: &str, exists: bool) -> bool {
        let kind = &block.kind;
        let name = shown(name);
        match (self.is_override, exists) {
            (false, false) | (true, true) => return true,
            (false, true) => {
                self.error(
                    block.line,
                    format!("{kind} {name} is declared twice; the first one counts"),
                );
            }
            (true, false) => {
                self.error(
                    block.line,
                    format!("{kind} {name} is overridden, but no other file declares it"),
                );
            }
        }
        false
    }

    /// Sets `field` to the text of an attribute, if there is one.
    pub(super) fn set_text(&mut self, field: &mut Option<String>, block: &Block<'_>, name: &str) {
        let Some(attribute) = block.attributes.get(name) else {
            return;
        };
        if attribute.value.is_null() {
            *field = None;
        } else if let Some(text) = self.text(attribute, name) {
            *field = Some(text).filter(|text| !text.is_empty());
        }
    }

    /// Sets `field` to the truth value of an attribute, if there is one.
    pub(super) fn set_flag(&mut self, field: &mut bool, block: &Block<'_>, name: &str) {
        if let Some(flag) = self.flag(block, name) {
            *field = flag;
        }
    }

    pub(super) fn flag(&mut self, block: &Block<'_>, name: &str) -> Option<bool> {
        let attribute = block.attributes.get(name)?;
        if attribute.value.is_null() {
            return None;
        }
        match self.literal(attribute, name)?.as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                self.error(attribute.line, format!("{name} must be true or false"));
                None
            }
        }
    }

    /// Returns a literal, or reports that there is none.
    fn literal(&mut self, attribute: &Attribute<'_>, name: &str) -> Option<String> {
        let text = attribute.value.literal();
        if text.is_none() {
            self.error(attribute.line, format!("{name} must be a literal value"));
        }
        text
    }

    /// Returns the text of a literal up to the limit, or reports that the value is none.
    pub(super) fn text(&mut self, attribute: &Attribute<'_>, name: &str) -> Option<String> {
        let text = self.literal(attribute, name)?;
        Some(self.limited(attribute, name, text))
    }

    /// Returns a text up to the limit.
    pub(super) fn limited(
        &mut self,
        attribute: &Attribute<'_>,
        name: &str,
        text: String,
    ) -> String {
        let max = limits::TEXT_BYTES;
        if text.len() <= max {
            return text;
        }
        let path = shown(self.path);
        let line = attribute
            .line
            .map_or_else(String::new, |line| format!(":{line}"));
        self.notes.add(format!(
            "{path}{line}: {name} has {} bytes and was cut after {max}",
            text.len()
        ));
        format!("{}…", cut(&text, max))
    }
}
