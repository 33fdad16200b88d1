//! Repair: how far a walk over everything is, and what may be removed.
//!
//! # Why no archive is removed that a release refers to
//! An archive without a release is what a publish leaves that was broken off, and what one is going to
//! refer to. To tell them apart takes time, so it is removed in two phases:
//!
//! 1. It is **marked**: [`GarbageDocument`], created only if there is none.
//! 2. An hour ([`limits::GARBAGE_SECONDS`]) later somebody looks for references again, at every release.
//!    If there is none, the mark that was read before that look becomes *removing* by compare-and-swap, the
//!    archive is removed, and then the mark.
//!
//! A publish (or whatever else is going to refer to an archive) looks for marks **before** it looks for
//! archives. One that is marked becomes *kept* by compare-and-swap; one that is being removed counts as
//! missing, and is not committed to. What it has seen is good for a quarter of an hour
//! ([`limits::LOOK_SECONDS`]); after that it looks again before it commits.
//!
//! So consider a commit that refers to an archive, and the swap to *removing* of the same archive:
//!
//! - The publish has looked for marks before this mark was made. Then its commit was at most a quarter of
//!   an hour after that, and the second look, an hour after the mark, has found the release.
//! - It has looked between the mark and the swap. Then the mark is *kept*, and the swap fails.
//! - It has looked after the swap and before the mark was removed. Then it has not committed.
//! - It has looked after that. Then the archive was gone before it looked for archives, which have to be
//!   sent again.
//!
//! A removal that was broken off is taken up again after an hour: until the mark is gone nothing commits to
//! the archive, so that what was stored again meanwhile can be removed, too.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::model::package::Package;
use crate::storage::key::{FactKey, INCOMING, ORIGINS, RELEASES};
use terrace_base::time::UnixTime;

/// One of the things that a walk looks at, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Every release, and of each package its lists.
    Releases,
    /// The lists of what is pulled, where no version is stored yet.
    Origins,
    /// Every manifest that was pushed.
    Manifests,
    /// Every tag, and of each repository the list of them.
    Tags,
    /// Every blob of a repository.
    Links,
    /// The list of revoked tokens.
    Revocations,
    /// What was brought to be published: whether it still may be.
    Incoming,
    /// Every index: whether there is a fact that it follows from.
    Indices,
}

/// How far a walk is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// What it looks at.
    pub section: Section,
    /// The name that it goes on behind, which follows the section's prefix; in [`Section::Indices`] a
    /// whole key.
    pub behind: String,
    /// In [`Section::Indices`]: the page of the listing, in storage's own words.
    pub page: Option<String>,
}

/// How far the periodic repair is: one document, changed by compare-and-swap, so that one at a time works.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorDocument {
    /// Where the next step begins; empty for the beginning.
    pub next: String,
    /// When a step has begun that has not ended yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<UnixTime>,
}

/// That an archive may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GarbageDocument {
    /// What is to become of it.
    pub state: GarbageState,
    /// Since when.
    pub since: UnixTime,
}

/// What is to become of an archive that nothing referred to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GarbageState {
    /// It is removed, unless something refers to it soon.
    Marked,
    /// A publish has found it.
    Kept,
    /// It is being removed: nothing may refer to it.
    Removing,
}

/// A text is no state of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neither marked nor kept nor removing")]
pub struct GarbageStateError;

impl FromStr for GarbageState {
    type Err = GarbageStateError;

    fn from_str(text: &str) -> Result<Self, GarbageStateError> {
        match text {
            "marked" => Ok(Self::Marked),
            "kept" => Ok(Self::Kept),
            "removing" => Ok(Self::Removing),
            _ => Err(GarbageStateError),
        }
    }
}

impl fmt::Display for GarbageState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Marked => "marked",
            Self::Kept => "kept",
            Self::Removing => "removing",
        })
    }
}

/// What stands between the page and the key of a position in the indices. No cursor has one.
const SEPARATOR: char = ' ';

impl Section {
    const ALL: [Self; 8] = [
        Self::Releases,
        Self::Origins,
        Self::Manifests,
        Self::Tags,
        Self::Links,
        Self::Revocations,
        Self::Incoming,
        Self::Indices,
    ];

    /// What the keys of its facts begin with.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Releases => RELEASES,
            Self::Origins => ORIGINS,
            Self::Manifests => "oci/manifests/",
            Self::Tags => "oci/tags/",
            Self::Links => "oci/links/",
            Self::Revocations => "revocations/",
            Self::Incoming => INCOMING,
            Self::Indices => "indices ",
        }
    }

    /// The one after it.
    pub fn next(self) -> Option<Self> {
        let mut rest = Self::ALL.into_iter().skip_while(|section| *section != self);
        rest.nth(1)
    }
}

impl Position {
    /// The beginning of a section.
    pub fn start(section: Section) -> Self {
        Self::behind(section, String::new())
    }

    /// Behind a name of a section.
    pub fn behind(section: Section, behind: String) -> Self {
        Self {
            section,
            behind,
            page: None,
        }
    }

    /// Where a walk over a package alone begins.
    pub fn start_of(package: &Package) -> Self {
        let releases = FactKey::releases_of(package);
        let behind = releases.strip_prefix(RELEASES).unwrap_or_default();
        // The slash is left out: the lists of the package are not looked at yet.
        let behind = behind.trim_end_matches('/').to_owned();
        Self::behind(Section::Releases, behind)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            section,
            behind,
            page,
        } = self;
        f.write_str(section.prefix())?;
        if *section == Section::Indices {
            write!(f, "{}{SEPARATOR}", page.as_deref().unwrap_or_default())?;
        }
        f.write_str(behind)
    }
}

/// A text is no position of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it must be the `next` of a step before")]
pub struct PositionError;

impl FromStr for Position {
    type Err = PositionError;

    /// Reads what `Display` has written; nothing is the beginning.
    fn from_str(text: &str) -> Result<Self, PositionError> {
        if text.is_empty() {
            return Ok(Self::start(Section::Releases));
        }
        let section = |section: &Section| text.starts_with(section.prefix());
        let section = Section::ALL.into_iter().find(section);
        let section = section.ok_or(PositionError)?;
        let rest = text.strip_prefix(section.prefix()).unwrap_or_default();
        let (page, behind) = match section {
            Section::Indices => rest.split_once(SEPARATOR).ok_or(PositionError)?,
            _ => ("", rest),
        };
        let page = Some(page).filter(|page| !page.is_empty());
        let page = page.map(str::to_owned);
        Ok(Self {
            section,
            behind: behind.to_owned(),
            page,
        })
    }
}

impl CursorDocument {
    /// Whether somebody else is at it.
    pub fn is_taken(&self, now: UnixTime) -> bool {
        self.begun
            .is_some_and(|begun| now.since(begun) < limits::REPAIR_SECONDS)
    }
}

impl GarbageDocument {
    /// Of an archive that nothing refers to.
    pub fn marked(now: UnixTime) -> Self {
        Self {
            state: GarbageState::Marked,
            since: now,
        }
    }

    /// The same archive, in another state from now on.
    pub fn becomes(state: GarbageState, now: UnixTime) -> Self {
        Self { state, since: now }
    }

    /// Whether it has been in its state for so long that whoever has seen another one is done.
    pub fn is_settled(&self, now: UnixTime) -> bool {
        now.since(self.since) >= limits::GARBAGE_SECONDS
    }
}

const _: () = assert!(
    limits::GARBAGE_SECONDS >= 2 * limits::LOOK_SECONDS,
    "a publish must be over before what it has not seen marked is removed"
);

terrace_base::text_serde!(GarbageState);

#[cfg(test)]
mod tests {
    use super::*;

    fn position(section: Section, behind: &str, page: Option<&str>) -> Position {
        Position {
            section,
            behind: behind.to_owned(),
            page: page.map(str::to_owned),
        }
    }

    #[test]
    fn a_position_is_read_back() {
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
            position(Section::Incoming, "00.00.zip", None),
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
    fn every_section_has_its_turn() {
        let mut section = Section::Releases;
        let mut seen = vec![section];
        while let Some(next) = section.next() {
            seen.push(next);
            section = next;
        }
        assert_eq!(seen, Section::ALL);
    }

    #[test]
    fn the_documents_are_pinned() {
        let cursor = CursorDocument {
            next: "releases/".to_owned(),
            begun: Some(UnixTime(1)),
        };
        assert_eq!(
            serde_json::to_string(&cursor).unwrap(),
            r#"{"next":"releases/","begun":1}"#
        );
        let marked = GarbageDocument::marked(UnixTime(1));
        assert_eq!(
            serde_json::to_string(&marked).unwrap(),
            r#"{"state":"marked","since":1}"#
        );
        for (state, text) in [
            (GarbageState::Kept, "kept"),
            (GarbageState::Removing, "removing"),
        ] {
            let text = format!(r#"{{"state":"{text}","since":2}}"#);
            let document = GarbageDocument::becomes(state, UnixTime(2));
            assert_eq!(
                serde_json::from_str::<GarbageDocument>(&text).unwrap(),
                document
            );
        }
    }

    #[test]
    fn a_step_that_never_ended_is_waited_for_and_then_forgotten() {
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
