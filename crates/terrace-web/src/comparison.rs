//! The differences between two versions of a package, as their documentation describes them.

mod constraint;
mod module;
mod provider;
#[cfg(test)]
mod tests;

pub use module::modules;

use std::collections::BTreeMap;

use serde::Serialize;
use terrace_core::api::details::{Navigation, VersionDetails};

use constraint::Raise;
use provider::providers;

/// A version, with its documents.
#[derive(Debug, Clone, Copy)]
pub struct ComparedVersion<'a> {
    /// The details.
    pub details: &'a VersionDetails,
    /// The documents and symbols.
    pub navigation: &'a Navigation,
}

/// Compares two versions of a package; `None` if the documentation of one is missing.
pub fn versions(old: ComparedVersion<'_>, new: ComparedVersion<'_>) -> Option<Comparison> {
    match (&old.details.module, &new.details.module) {
        (Some(old), Some(new)) => return Some(modules(old, new)),
        (None, None) => {}
        _ => return None,
    }
    let is_documented = |it: ComparedVersion<'_>| it.details.documentation.is_some();
    (is_documented(old) && is_documented(new)).then(|| providers(old, new))
}

/// The differences between two versions; without sections if there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The kinds of things that differ.
    pub sections: Vec<ComparedSection>,
    /// Whether resources and the like were compared by their names alone, because a version has no schema.
    pub compares_names: bool,
}

/// The differences among things of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ComparedSection {
    /// The kind, such as `Inputs`, or `Inputs of endpoints` for a submodule.
    pub title: String,
    /// The differences, ascending by kind and name, of each kind those that may break a configuration first.
    pub changes: Vec<Change>,
}

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Change {
    /// The name of the thing that differs.
    pub name: String,
    /// The kind of difference.
    pub kind: ChangeKind,
    /// Whether a configuration that works with the old version may fail with the new one.
    pub is_breaking: bool,
    /// The place of its documentation, after the path of the version's page: of the old version if it was removed.
    #[serde(skip)]
    pub link: Option<String>,
    /// The properties that differ; all of an added thing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldChange>,
}

/// The kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Only the old version has it.
    Removed,
    /// Both have it, with different properties.
    Changed,
    /// Both have it, and the new version requires a newer version of it.
    Raised,
    /// Only the new version has it.
    Added,
}

/// A property that differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FieldChange {
    /// The name of the property.
    pub field: &'static str,
    /// The value in the old version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The value in the new version.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    /// Returns the place of the documentation, as in [`Change::link`].
    link: fn(&T) -> Option<String>,
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
        let mut changes: Vec<_> = changes
            .filter_map(|(name, pair)| rules.change(name, pair))
            .collect();
        changes.sort_by_key(|change| (change.kind, !change.is_breaking));
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

    /// Removes the differences that break no configuration.
    pub fn retain_breaking(&mut self) {
        for section in &mut self.sections {
            section.changes.retain(|change| change.is_breaking);
        }
        self.sections.retain(|it| !it.changes.is_empty());
    }
}

impl ComparedSection {
    /// Returns the numbers of differences by kind, such as `2 removed, 1 added`.
    pub fn summary(&self) -> String {
        let kinds = self.changes.chunk_by(|one, next| one.kind == next.kind);
        let kinds = kinds.filter_map(|changes| Some((changes.len(), changes.first()?.kind)));
        let kinds = kinds.map(|(count, kind)| match kind {
            ChangeKind::Removed => format!("{count} removed"),
            ChangeKind::Changed => format!("{count} changed"),
            ChangeKind::Raised => format!("{count} raised"),
            ChangeKind::Added => format!("{count} added"),
        });
        kinds.collect::<Vec<_>>().join(", ")
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
        // Neither an older version nor a newer one of the same major version is an obstacle, unlike any other change of a constraint.
        let raises: Option<Vec<_>> = fields.iter().map(FieldChange::raise).collect();
        let raises = raises.filter(|raises| !raises.is_empty());
        (!is_same).then(|| Change {
            name,
            kind: match raises.iter().flatten().max() {
                Some(Raise::Minor | Raise::Major) => ChangeKind::Raised,
                Some(Raise::Lowered) | None => kind,
            },
            is_breaking: (self.is_breaking)(old, new)
                && raises.is_none_or(|raises| raises.contains(&Raise::Major)),
            link: new.or(old).and_then(self.link),
            fields,
        })
    }
}

impl FieldChange {
    /// Returns how the lower bound was moved, if the property is a constraint in which nothing else differs.
    fn raise(&self) -> Option<Raise> {
        let is_constraint = matches!(self.field, "version" | "constraint");
        let (old, new) = (self.old.as_ref()?, self.new.as_ref()?);
        is_constraint.then(|| constraint::raise(old, new))?
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
