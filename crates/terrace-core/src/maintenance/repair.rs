//! Repair: the position of a walk over everything stored.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::model::owner::Owner;
use crate::model::package::Package;
use crate::storage::key::{
    CARDS, DOCUMENTATION, GARBAGE, MANIFESTS, ORIGINS, RELEASES, RULES, STAGED,
};
use terrace_base::time::UnixTime;

/// Time that the periodic repair waits for an unfinished earlier run, in seconds: longer than the platform
/// lets one run, which is 15 minutes (<https://developers.cloudflare.com/workers/platform/limits/#duration>).
pub const REPAIR_SECONDS: u64 = 1_000;

/// Share of the periodic repair, with default steps, in the KV keys that the free plan lets be read in a day: a
/// quarter of 100,000 (<https://developers.cloudflare.com/kv/platform/pricing/>). More operations for each
/// step raise this share, and the following ones.
const REPAIR_KV_READS_A_DAY: u64 = 25_000;

/// The same for lists of keys: a quarter of 1,000. Each publish takes one.
const REPAIR_KV_LISTS_A_DAY: u64 = 250;

/// The same for writes: half of 1,000, because the repair writes only after damage.
const REPAIR_KV_WRITES_A_DAY: u64 = 500;

/// Time that a walk of the periodic repair may make up for if it began its steps late, in seconds.
const REPAIR_CREDIT_SECONDS: u64 = 600;

/// A section of a walk. A walk visits the sections one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Every package with releases: its lists, and the indices of its versions where the lists differ.
    Releases,
    /// The lists of pulled providers without a stored version.
    Origins,
    /// The catalogue of each owner.
    Catalogs,
    /// The catalogue of all owners.
    MergedCatalog,
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
    /// Every garbage mark: whether the archive was erased, and is stored again.
    ErasedArchives,
    /// The documentation of every version: whether the version was published.
    Documentation,
    /// The list of active rules.
    Rules,
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
    /// Whether an index of an earlier version of the current package could not be repaired. The lists of that
    /// package then keep differing, so that the next walk repairs the versions again.
    pub is_incomplete: bool,
}

/// The positions of the periodic repair: one document, changed by compare-and-swap, so that only one step runs
/// at a time. It is two walks, each at its own pace: over the facts, and over the keys of the indices. Listing
/// keys is the operation that the platform's plans limit most, so the facts do not wait for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorDocument {
    /// The position of the next step of the walk over the facts; empty for the beginning.
    pub next: String,
    /// The start time of a step that has not ended yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<UnixTime>,
    /// The time before which the walk over the facts does not continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<UnixTime>,
    /// How many of the next steps visit a single item each, because a longer step was interrupted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub careful: u32,
    /// The walk over the keys of the indices.
    #[serde(default, skip_serializing_if = "KeysCursor::is_new")]
    pub keys: KeysCursor,
}

/// The position of the periodic walk over the keys of the indices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeysCursor {
    /// The position of its next step; empty for the beginning.
    pub next: String,
    /// The time before which it does not continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<UnixTime>,
}

/// One of the two walks of the periodic repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeriodicWalk {
    /// The walk over the facts.
    Facts,
    /// The walk over the keys of the indices.
    Keys,
}

/// The operations of a step that the platform's free plan limits by the day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StepCost {
    /// How many keys were read from KV; each key of a bulk read counts.
    pub kv_reads: u32,
    /// How many lists of keys were read from KV.
    pub kv_lists: u32,
    /// How many keys were written to KV, or removed.
    pub kv_writes: u32,
}

/// Ends the position of a package with an index that could not be repaired. No key of a release contains a
/// space.
const INCOMPLETE: &str = " incomplete";

/// Separates the page and the key of a position in the indices. No storage cursor contains it.
const SEPARATOR: char = ' ';

impl Section {
    const ALL: [Self; 13] = [
        Self::Releases,
        Self::Origins,
        Self::Catalogs,
        Self::MergedCatalog,
        Self::Manifests,
        Self::Tags,
        Self::Links,
        Self::Revocations,
        Self::StagedUploads,
        Self::ErasedArchives,
        Self::Documentation,
        Self::Rules,
        Self::Indices,
    ];

    /// Returns the prefix of the keys of its facts.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Releases => RELEASES,
            Self::Origins => ORIGINS,
            Self::Catalogs => CARDS,
            Self::MergedCatalog => "merged-catalog",
            Self::Manifests => MANIFESTS,
            Self::Tags => "oci/tags/",
            Self::Links => "oci/links/",
            Self::Revocations => "revocations/",
            Self::StagedUploads => STAGED,
            Self::ErasedArchives => GARBAGE,
            Self::Documentation => DOCUMENTATION,
            Self::Rules => RULES,
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
            is_incomplete: false,
        }
    }

    /// Returns the position before the first version of a package: its versions and lists are checked one by
    /// one.
    pub fn inside(package: &Package) -> Self {
        Self::after(Section::Releases, format!("{package}/"))
    }

    /// Returns the position after every release of a package: `0` is the character after the slash.
    pub fn past(package: &Package) -> Self {
        Self::after(Section::Releases, format!("{package}0"))
    }

    /// Returns the package that the position is inside of, if it is inside of one, and the name of the version
    /// after which the walk continues.
    pub fn package(&self) -> Option<(Package, &str)> {
        if self.section != Section::Releases {
            return None;
        }
        let (package, version) = self.after.rsplit_once('/')?;
        Some((Package::parse_key(package)?, version))
    }

    /// Returns the position after all cards of the owner of a package: `0` is the character after the slash.
    pub fn past_owner_of(package: &Package) -> Self {
        Self::after(Section::Catalogs, format!("{}0", Owner::of(package)))
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            section,
            after,
            page,
            is_incomplete,
        } = self;
        f.write_str(section.prefix())?;
        if *section == Section::Indices {
            write!(f, "{}{SEPARATOR}", page.as_deref().unwrap_or_default())?;
        }
        f.write_str(after)?;
        match is_incomplete {
            true => f.write_str(INCOMPLETE),
            false => Ok(()),
        }
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
        let incomplete = match section {
            Section::Releases => after.strip_suffix(INCOMPLETE),
            _ => None,
        };
        Ok(Self {
            section,
            after: incomplete.unwrap_or(after).to_owned(),
            page,
            is_incomplete: incomplete.is_some(),
        })
    }
}

impl CursorDocument {
    /// Returns whether another step is running.
    pub fn is_taken(&self, now: UnixTime) -> bool {
        self.begun
            .is_some_and(|begun| now.since(begun) < REPAIR_SECONDS)
    }

    /// Returns the walk that continues next. It does not depend on the time, so a step after an interrupted
    /// one continues the same walk.
    pub fn turn(&self) -> PeriodicWalk {
        match self.due <= self.keys.due {
            true => PeriodicWalk::Facts,
            false => PeriodicWalk::Keys,
        }
    }

    /// Returns the seconds since a step was due that has not been taken yet. `stored_at` is when the document was stored,
    /// which every step does.
    pub fn overdue(&self, stored_at: UnixTime, now: UnixTime) -> u64 {
        let due = self.due.min(self.keys.due).unwrap_or_default();
        now.since(due.max(stored_at))
    }

    /// Returns whether one of the walks may continue.
    pub fn is_due(&self, now: UnixTime) -> bool {
        self.due.min(self.keys.due) <= Some(now)
    }
}

impl KeysCursor {
    fn is_new(&self) -> bool {
        *self == Self::default()
    }
}

impl StepCost {
    /// Returns the time before which the walk does not continue after a step with this cost, so that a day of
    /// steps of `operations` each takes the share of the free plan that the default takes.
    /// `due` is the time before which that step did not begin.
    pub fn next_due(self, due: Option<UnixTime>, now: UnixTime, operations: u32) -> UnixTime {
        const DAY_MILLIS: u64 = 86_400_000;
        let share = |count: u32, of_a_day: u64| u64::from(count) * DAY_MILLIS / of_a_day;
        let millis = share(self.kv_reads, REPAIR_KV_READS_A_DAY)
            + share(self.kv_lists, REPAIR_KV_LISTS_A_DAY)
            + share(self.kv_writes, REPAIR_KV_WRITES_A_DAY);
        let millis = millis * u64::from(limits::REPAIR_OPERATIONS) / u64::from(operations.max(1));
        // A step begins at the next minute after it is due. The credit makes up for that.
        let credited = now.0.saturating_sub(REPAIR_CREDIT_SECONDS);
        let from = due.map_or(0, |due| due.0).max(credited);
        UnixTime(from + millis.div_ceil(1_000))
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widget() -> Package {
        Package::Provider("acme/widget".parse().unwrap())
    }

    #[test]
    fn a_position_is_inside_a_package_between_its_first_slash_and_its_end() {
        let of = |text: &str| text.parse::<Position>().unwrap();
        let inside = of("releases/providers/hosted/acme/widget/");
        assert_eq!(inside, Position::inside(&widget()));
        assert_eq!(inside.package(), Some((widget(), "")));
        let after = of("releases/providers/hosted/acme/widget/1.0.0");
        assert_eq!(after.package(), Some((widget(), "1.0.0")));
        for outside in [
            "releases/",
            "releases/providers/hosted/acme/widget",
            "releases/providers/hosted/acme/widget0",
            "releases/modules/acme/vpc/aws",
            "releases/modules/acme/vpc/aws0",
            "releases/providers/registry.example.com/acme/widget",
            "origins/registry.example.com/acme/widget",
        ] {
            assert_eq!(of(outside).package(), None, "{outside}");
        }
        let past = Position::past(&widget()).after;
        assert!(*past > *"providers/hosted/acme/widget/9");
        assert!(*past < *"providers/hosted/acme/widget0/1.0.0");
        assert!(*past < *"providers/hosted/acme/widgets/1.0.0");
    }

    #[test]
    fn a_position_is_written_as_parsed() {
        for text in [
            "releases/",
            "releases/providers/hosted/acme/widget/1.0.0+b",
            "releases/providers/hosted/acme/widget/1.0.0 incomplete",
            "releases/a b",
            "origins/a.example.com/acme/widget",
            "cards/acme0",
            "merged-catalog",
            "oci/manifests/team/app:sha256:00",
            "oci/tags/team/app:",
            "oci/links/",
            "revocations/",
            "incoming/00.00.zip",
            "garbage/00.zip",
            "docs/modules/acme/vpc/aws/1.0.0",
            "indices  ",
            "indices x ",
            "indices  oci/team/app:tags",
            "indices AbC= somebody else's",
        ] {
            let position: Position = text.parse().unwrap();
            assert_eq!(position.to_string(), text);
        }
        let page: Position = "indices AbC= somebody else's".parse().unwrap();
        assert_eq!(page.page.as_deref(), Some("AbC="));
        assert_eq!(page.after, "somebody else's");
        let start = Position::start(Section::Releases);
        assert_eq!("".parse(), Ok(start));
        for text in ["keys/", "releases", "indices x"] {
            assert_eq!(text.parse::<Position>(), Err(PositionError), "{text}");
        }
    }

    #[test]
    fn the_cursor_is_pinned() {
        let cursor = CursorDocument {
            next: "releases/".to_owned(),
            begun: Some(UnixTime(1)),
            ..CursorDocument::default()
        };
        let text = r#"{"next":"releases/","begun":1}"#;
        assert_eq!(serde_json::to_string(&cursor).unwrap(), text);
        assert_eq!(
            serde_json::from_str::<CursorDocument>(text).unwrap(),
            cursor
        );
        let cursor = CursorDocument {
            due: Some(UnixTime(2)),
            careful: 3,
            keys: KeysCursor {
                next: "indices  a".to_owned(),
                due: Some(UnixTime(4)),
            },
            ..cursor
        };
        let text = r#"{"next":"releases/","begun":1,"due":2,"careful":3,"keys":{"next":"indices  a","due":4}}"#;
        assert_eq!(serde_json::to_string(&cursor).unwrap(), text);
        assert_eq!(
            serde_json::from_str::<CursorDocument>(text).unwrap(),
            cursor
        );
    }

    #[test]
    fn the_walk_that_is_due_first_continues() {
        let cursor = |facts: Option<u64>, keys: Option<u64>| CursorDocument {
            due: facts.map(UnixTime),
            keys: KeysCursor {
                next: String::new(),
                due: keys.map(UnixTime),
            },
            ..CursorDocument::default()
        };
        let now = UnixTime(100);
        for (facts, keys, turn, is_due) in [
            (None, None, PeriodicWalk::Facts, true),
            (Some(100), None, PeriodicWalk::Keys, true),
            (Some(100), Some(100), PeriodicWalk::Facts, true),
            (Some(101), Some(100), PeriodicWalk::Keys, true),
            (Some(101), Some(102), PeriodicWalk::Facts, false),
        ] {
            let cursor = cursor(facts, keys);
            assert_eq!(
                (cursor.turn(), cursor.is_due(now)),
                (turn, is_due),
                "{cursor:?}"
            );
        }
    }

    /// A day of steps, one a minute while one is due.
    #[test]
    fn a_day_of_steps_takes_its_share_of_the_free_plan() {
        for (operations, times) in [
            (limits::REPAIR_OPERATIONS, 1),
            (10 * limits::REPAIR_OPERATIONS, 10),
        ] {
            let cost = |kv_reads, kv_lists, kv_writes| StepCost {
                kv_reads,
                kv_lists,
                kv_writes,
            };
            for (cost, limit) in [
                (cost(100, 0, 0), REPAIR_KV_READS_A_DAY),
                (cost(0, 3, 0), REPAIR_KV_LISTS_A_DAY),
                (cost(0, 0, 7), REPAIR_KV_WRITES_A_DAY),
            ] {
                let (start, mut due, mut steps) = (1_000_000, None, 0);
                for minute in 0..10 * 1_440 {
                    let now = UnixTime(start + 60 * minute);
                    if due <= Some(now) {
                        due = Some(cost.next_due(due, now, operations));
                        steps += 1;
                    }
                }
                let taken = steps * u64::from(cost.kv_reads + cost.kv_lists + cost.kv_writes) / 10;
                let most = u64::from(cost.kv_reads + cost.kv_lists + cost.kv_writes) * 1_440;
                let wanted = (limit * times).min(most);
                assert!(
                    (wanted * 98 / 100..=wanted * 102 / 100).contains(&taken),
                    "{cost:?} {taken} {wanted}"
                );
            }
        }
    }
}
