//! The answers of `list_versions` and `compare_versions`.

use serde::Serialize;

use crate::api::details::{PackageDetails, StatusView, VersionSummary};
use crate::mcp::page::{AnswerPage, Entries, cut};
use crate::model::package::PackageKind;
use crate::model::version::Version;
use terrace_base::json;

/// The answer of `list_versions`.
#[derive(Debug, Serialize)]
pub struct VersionsAnswer {
    address: String,
    kind: PackageKind,
    latest: Option<Version>,
    #[serde(skip_serializing_if = "Option::is_none")]
    package_status: Option<StatusView>,
    versions: Entries,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

/// A version in the answer.
#[derive(Serialize)]
struct VersionEntry<'a> {
    version: &'a Version,
    #[serde(skip_serializing_if = "Option::is_none")]
    published_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a StatusView>,
    is_documented: bool,
}

/// The answer of `compare_versions`.
#[derive(Debug, Serialize)]
pub struct ComparisonAnswer {
    address: String,
    from: Version,
    to: Version,
    page: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    /// The number of changes that may break a configuration.
    breaking: usize,
    changes: Entries,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

/// A difference between two versions.
#[derive(Debug, Clone, Serialize)]
pub struct ComparedChange {
    /// The kind of thing that differs, such as `Inputs`.
    pub section: String,
    /// The name of the thing.
    pub name: String,
    /// `added`, `removed` or `changed`.
    pub change: &'static str,
    /// Whether a configuration that works with the old version may fail with the new one.
    pub is_breaking: bool,
    /// The properties that differ: the name, the old and the new value.
    pub fields: Vec<ComparedField>,
}

/// A property that differs: its name, and its old and its new value.
pub type ComparedField = (&'static str, Option<String>, Option<String>);

#[derive(Serialize)]
struct ChangeEntry<'a> {
    section: String,
    name: String,
    change: &'a str,
    is_breaking: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<FieldEntry<'a>>,
}

#[derive(Serialize)]
struct FieldEntry<'a> {
    field: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<String>,
}

impl VersionsAnswer {
    /// Creates the answer about a package.
    pub fn new(details: PackageDetails, page: &mut AnswerPage) -> Self {
        let entry = |it: &VersionSummary| {
            json::to_string(&VersionEntry {
                version: &it.version,
                published_at: it.published_at.as_deref(),
                status: it.status.as_ref(),
                is_documented: it.is_documented,
            })
        };
        Self {
            versions: page.take(&details.versions, entry),
            address: details.package.address,
            kind: details.package.kind,
            latest: details.latest,
            package_status: details.status,
            next_offset: page.next(),
        }
    }
}

impl ComparisonAnswer {
    /// Creates the answer about two versions of a package; `changes` is `None` if the documentation of one is missing. `url`
    /// is that of the page for people.
    pub fn new(
        address: String,
        [from, to]: [Version; 2],
        changes: Option<&[ComparedChange]>,
        url: String,
        page: &mut AnswerPage,
    ) -> Self {
        let note = "a comparison needs the documentation of both versions, and one has none";
        let all = changes.unwrap_or_default();
        Self {
            address,
            from,
            to,
            page: url,
            note: changes.is_none().then_some(note),
            breaking: all.iter().filter(|change| change.is_breaking).count(),
            changes: page.take(all, |it| json::to_string(&entry(it))),
            next_offset: page.next(),
        }
    }
}

fn entry(change: &ComparedChange) -> ChangeEntry<'_> {
    let fields = change.fields.iter();
    ChangeEntry {
        section: cut(&change.section),
        name: cut(&change.name),
        change: change.change,
        is_breaking: change.is_breaking,
        fields: fields
            .map(|(field, old, new)| FieldEntry {
                field,
                old: old.as_deref().map(cut),
                new: new.as_deref().map(cut),
            })
            .collect(),
    }
}
