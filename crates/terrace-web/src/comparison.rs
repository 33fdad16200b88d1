//! The differences between two versions of a package, as their documentation describes them.

mod module;
mod provider;
#[cfg(test)]
mod tests;

pub use module::modules;
pub use provider::{ProviderVersion, providers};

use std::collections::BTreeMap;

/// The differences between two versions; without sections if there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The kinds of things that differ.
    pub sections: Vec<ComparedSection>,
}

/// The differences among things of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedSection {
    /// The kind, such as `Inputs`, or `Inputs of endpoints` for a submodule.
    pub title: String,
    /// The differences, ascending by name.
    pub changes: Vec<Change>,
}

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The name of the thing that differs.
    pub name: String,
    /// The kind of difference.
    pub kind: ChangeKind,
    /// Whether a configuration that works with the old version may fail with the new one.
    pub is_breaking: bool,
    /// The properties that differ; all of an added thing.
    pub fields: Vec<FieldChange>,
}

/// The kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Only the new version has it.
    Added,
    /// Only the old version has it.
    Removed,
    /// Both have it, with different properties.
    Changed,
}

/// A property that differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldChange {
    /// The name of the property.
    pub field: &'static str,
    /// The value in the old version.
    pub old: Option<String>,
    /// The value in the new version.
    pub new: Option<String>,
}

/// The properties of a thing, in the order in which they are shown.
type Fields = Vec<(&'static str, Option<String>)>;

/// The rules by which things of one kind are compared.
struct Rules<T> {
    /// Returns the name of a thing, by which the two versions are matched.
    name: fn(&T) -> String,
    /// Returns the properties.
    fields: fn(&T) -> Fields,
    /// Returns whether a difference may break a configuration: the thing in the old and in the new version.
    is_breaking: fn(Option<&T>, Option<&T>) -> bool,
}

impl Comparison {
    /// Adds the differences among things of one kind, if there are any.
    fn add<T>(&mut self, title: impl Into<String>, old: &[T], new: &[T], rules: &Rules<T>) {
        let mut pairs = BTreeMap::<String, (Option<&T>, Option<&T>)>::new();
        for thing in old {
            pairs.entry((rules.name)(thing)).or_default().0 = Some(thing);
        }
        for thing in new {
            pairs.entry((rules.name)(thing)).or_default().1 = Some(thing);
        }
        let changes = pairs.into_iter();
        let changes: Vec<_> = changes
            .filter_map(|(name, pair)| rules.change(name, pair))
            .collect();
        if !changes.is_empty() {
            let title = title.into();
            self.sections.push(ComparedSection { title, changes });
        }
    }

    /// Returns the number of differences that may break a configuration.
    pub fn breaking(&self) -> usize {
        let changes = self.sections.iter().flat_map(|section| &section.changes);
        changes.filter(|change| change.is_breaking).count()
    }
}

impl<T> Rules<T> {
    /// Returns the difference between two things of one name; `None` if they are equal.
    fn change(&self, name: String, (old, new): (Option<&T>, Option<&T>)) -> Option<Change> {
        let fields_of = |thing: Option<&T>| thing.map_or_else(Vec::new, |it| (self.fields)(it));
        let (kind, fields) = match (old, new) {
            (Some(_), Some(_)) => {
                let (old, new) = (fields_of(old), fields_of(new));
                (ChangeKind::Changed, differing(old, new))
            }
            (None, _) => (ChangeKind::Added, differing(Vec::new(), fields_of(new))),
            (Some(_), None) => (ChangeKind::Removed, Vec::new()),
        };
        let is_same = kind == ChangeKind::Changed && fields.is_empty();
        (!is_same).then(|| Change {
            name,
            kind,
            is_breaking: (self.is_breaking)(old, new),
            fields,
        })
    }
}

/// Returns the properties that differ. Both lists have the same properties in the same order, or `old` has none.
fn differing(old: Fields, new: Fields) -> Vec<FieldChange> {
    let mut old = old.into_iter();
    let pairs = new.into_iter().map(|(field, new)| FieldChange {
        field,
        old: old.next().and_then(|(_, value)| value),
        new,
    });
    pairs
        .filter(|change| words(change.old.as_ref()) != words(change.new.as_ref()))
        .collect()
}

/// Returns the words of a value: a new layout of code makes no difference.
fn words(value: Option<&String>) -> Option<Vec<&str>> {
    value.map(|value| value.split_whitespace().collect())
}
