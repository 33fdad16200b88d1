//! Lists of keys, ascending, page by page.
//!
//! The order of paths is not that of keys: `a/b` comes before `a0` and after `a-`, and escapes differ from the characters that
//! they stand for. So the walk keeps all entries that it has seen, by the beginning of their keys, and always continues with
//! the least: a file is then the next key, and a directory is replaced by its entries. It enters only directories that can
//! contain keys of the page.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::path::Path;

use terrace_core::storage::copy::{FACTS, directory_of, fact_at, prefix_at};

use super::layout::BYTES;
use crate::volume::{Stat, Volume};

/// A stored key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) key: String,
    /// Its path, relative to the root.
    pub(super) path: String,
    pub(super) stat: Stat,
}

/// A file or a directory that the walk has not visited yet.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Unvisited {
    /// The key of a file; the beginning of all keys in a directory.
    key: String,
    is_directory: bool,
    /// With a slash at the end of that of a directory.
    path: String,
}

/// The keys of a page.
struct Range<'p> {
    prefix: &'p str,
    after: Option<String>,
}

impl Range<'_> {
    fn contains(&self, key: &str) -> bool {
        key.starts_with(self.prefix) && self.after.as_deref().is_none_or(|after| key > after)
    }

    /// Returns whether any key with this beginning can be one of the page.
    fn overlaps(&self, beginning: &str) -> bool {
        let has_prefix = beginning.starts_with(self.prefix) || self.prefix.starts_with(beginning);
        let is_later = |after: &str| beginning > after || after.starts_with(beginning);
        has_prefix && self.after.as_deref().is_none_or(is_later)
    }
}

/// Returns up to `limit` keys that begin with `prefix`, after the one named `after`, and whether there are more.
pub(super) fn page(
    volume: &dyn Volume,
    root: &Path,
    (prefix, after): (&str, Option<&str>),
    limit: u32,
) -> io::Result<(Vec<Found>, bool)> {
    let range = Range {
        prefix,
        after: after.map(|after| format!("{prefix}{after}")),
    };
    let mut unvisited = BinaryHeap::new();
    let roots = [directory_of(prefix)].into_iter();
    let roots = roots.chain(BYTES.map(str::to_owned));
    let roots = roots.filter_map(|path| directory(path, &range));
    unvisited.extend(roots.map(Reverse));
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    while let Some(Reverse(next)) = unvisited.pop() {
        if next.is_directory {
            let entries = children(volume, root, &next.path, &range)?;
            unvisited.extend(entries.into_iter().map(Reverse));
            continue;
        }
        let stat = match volume.stat(&root.join(&next.path)) {
            Ok(stat) => stat,
            // Removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if found.len() == limit {
            return Ok((found, true));
        }
        found.push(Found {
            key: next.key,
            path: next.path,
            stat,
        });
    }
    Ok((found, false))
}

/// Returns a directory, if it can contain keys of the page.
fn directory(path: String, range: &Range<'_>) -> Option<Unvisited> {
    let key = match path.starts_with(FACTS) {
        true => prefix_at(&path)?,
        false => path.clone(),
    };
    range.overlaps(&key).then_some(Unvisited {
        key,
        is_directory: true,
        path,
    })
}

/// Returns a file, if it is one of the page. A file that the store did not name is none.
fn file(path: String, range: &Range<'_>) -> Option<Unvisited> {
    let key = match path.starts_with(FACTS) {
        true => fact_at(&path)?,
        false => path.clone(),
    };
    range.contains(&key).then_some(Unvisited {
        key,
        is_directory: false,
        path,
    })
}

fn children(
    volume: &dyn Volume,
    root: &Path,
    path: &str,
    range: &Range<'_>,
) -> io::Result<Vec<Unvisited>> {
    let entries = match volume.entries(&root.join(path)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let visit = |name: String, is_directory: bool| match is_directory {
        true => directory(format!("{path}{name}/"), range),
        false => file(format!("{path}{name}"), range),
    };
    let entries = entries.into_iter();
    Ok(entries
        .filter_map(|entry| visit(entry.name, entry.is_directory))
        .collect())
}
