//! Repair: the position of a walk over everything stored.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::model::package::Package;
use crate::storage::key::{FactKey, ORIGINS, RELEASES, STAGED};
use terrace_base::time::UnixTime;

/// A section of a walk. A walk visits the sections one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Every release, and the lists of each package.
    Releases,
    /// The lists of pulled providers without a stored version.
    Origins,
    /// Every pushed manifest.
    Manifests,
    /// Every tag, and the list of tags of each repository.
    Tags,
    /// Every blob of a repository.
    Links,
    /// The list of revoked tokens.
    Revocations,
    /// Every staged upload: whether it may still be published.
    StagedUploads,
    /// Every index: whether there is a fact that it follows from.
    Indices,
}

/// The position of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The current section.
    pub section: Section,
    /// The name after which the walk continues, without the section's prefix; in [`Section::Indices`] a whole
    /// key.
    pub after: String,
    /// The page of the listing in [`Section::Indices`], as the storage's own cursor.
    pub page: Option<String>,
}

/// The position of the periodic repair: one document, changed by compare-and-swap, so that only one step runs
/// at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorDocument {
    /// The position of the next step; empty for the beginning.
    pub next: String,
    /// The start time of a step that has not ended yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<UnixTime>,
}

/// Separates the page and the key of a position in the indices. No storage cursor contains it.
const SEPARATOR: char = ' ';

impl Section {
    const ALL: [Self; 8] = [
        Self::Releases,
        Self::Origins,
        Self::Manifests,
        Self::Tags,
        Self::Links,
        Self::Revocations,
        Self::StagedUploads,
        Self::Indices,
    ];

    /// Returns the prefix of the keys of its facts.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Releases => RELEASES,
            Self::Origins => ORIGINS,
            Self::Manifests => "oci/manifests/",
            Self::Tags => "oci/tags/",
            Self::Links => "oci/links/",
            Self::Revocations => "revocations/",
            Self::StagedUploads => STAGED,
            Self::Indices => "indices ",
        }
    }

    /// Returns the next section; `None` after the last one.
    pub fn next(self) -> Option<Self> {
        let mut rest = Self::ALL.into_iter().skip_while(|section| *section != self);
        rest.nth(1)
    }
}

impl Position {
    /// Returns the beginning of a section.
    pub fn start(section: Section) -> Self {
        Self::after(section, String::new())
    }

    /// Returns the position after a name of a section.
    pub fn after(section: Section, after: String) -> Self {
        Self {
            section,
            after,
            page: None,
        }
    }

    /// Returns the beginning of a walk over a single package.
    pub fn start_of(package: &Package) -> Self {
        let releases = FactKey::releases_of(package);
        let after = releases.strip_prefix(RELEASES).unwrap_or_default();
        // The slash is omitted, because the lists of the package have not been checked yet.
        let after = after.trim_end_matches('/').to_owned();
        Self::after(Section::Releases, after)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            section,
            after,
            page,
        } = self;
        f.write_str(section.prefix())?;
        if *section == Section::Indices {
            write!(f, "{}{SEPARATOR}", page.as_deref().unwrap_or_default())?;
        }
        f.write_str(after)
    }
}

/// Error: a text that is not the position of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it must be the `next` of an earlier step")]
pub struct PositionError;

impl FromStr for Position {
    type Err = PositionError;

    /// Parses the text that `Display` writes; the empty text is the beginning.
    fn from_str(text: &str) -> Result<Self, PositionError> {
        if text.is_empty() {
            return Ok(Self::start(Section::Releases));
        }
        let section = |section: &Section| text.starts_with(section.prefix());
        let section = Section::ALL.into_iter().find(section);
        let section = section.ok_or(PositionError)?;
        let rest = text.strip_prefix(section.prefix()).unwrap_or_default();
        let (page, after) = match section {
            Section::Indices => rest.split_once(SEPARATOR).ok_or(PositionError)?,
            _ => ("", rest),
        };
        let page = Some(page).filter(|page| !page.is_empty());
        let page = page.map(str::to_owned);
        Ok(Self {
            section,
            after: after.to_owned(),
            page,
        })
    }
}

impl CursorDocument {
    /// Whether another step is running.
    pub fn is_taken(&self, now: UnixTime) -> bool {
        self.begun
            .is_some_and(|begun| now.since(begun) < limits::REPAIR_SECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(section: Section, after: &str, page: Option<&str>) -> Position {
        Position {
            section,
            after: after.to_owned(),
            page: page.map(str::to_owned),
        }
    }

    #[test]
    fn a_position_is_parsed_as_written() {
        for position in [
            Position::start(Section::Releases),
            position(
                Section::Releases,
                "providers/hosted/acme/widget/1.0.0+b",
                None,
            ),
            position(Section::Origins, "a.example.com/acme/widget", None),
            position(Section::Manifests, "team/app:sha256:00", None),
            position(Section::Tags, "team/app:", None),
            position(Section::Links, "", None),
            Position::start(Section::Revocations),
            position(Section::StagedUploads, "00.00.zip", None),
            Position::start(Section::Indices),
            position(Section::Indices, "oci/team/app:tags", None),
            position(Section::Indices, "oci/team/app:tags", Some("AbC=")),
            position(Section::Indices, "somebody else's", Some("AbC=")),
            position(Section::Indices, "somebody else's", None),
            position(Section::Releases, "a b", None),
            position(Section::Indices, "", Some("x")),
        ] {
            assert_eq!(position.to_string().parse(), Ok(position));
        }
        let start = Position::start(Section::Releases);
        assert_eq!("".parse(), Ok(start));
        for text in ["keys/", "releases", "indices x"] {
            assert_eq!(text.parse::<Position>(), Err(PositionError), "{text}");
        }
    }

    #[test]
    fn every_section_is_visited() {
        let mut section = Section::Releases;
        let mut seen = vec![section];
        while let Some(next) = section.next() {
            seen.push(next);
            section = next;
        }
        assert_eq!(seen, Section::ALL);
    }

    #[test]
    fn the_cursor_is_pinned() {
        let cursor = CursorDocument {
            next: "releases/".to_owned(),
            begun: Some(UnixTime(1)),
        };
        assert_eq!(
            serde_json::to_string(&cursor).unwrap(),
            r#"{"next":"releases/","begun":1}"#
        );
    }

    #[test]
    fn a_step_that_never_ends_blocks_others_for_a_limited_time() {
        let cursor = |begun: Option<u64>| CursorDocument {
            next: String::new(),
            begun: begun.map(UnixTime),
        };
        let now = UnixTime(1_000_000);
        assert!(!cursor(None).is_taken(now));
        assert!(cursor(Some(now.0 - 1)).is_taken(now));
        assert!(!cursor(Some(now.0 - limits::REPAIR_SECONDS)).is_taken(now));
    }
}
