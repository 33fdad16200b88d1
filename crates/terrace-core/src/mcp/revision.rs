//! The revisions of the protocol.

/// A revision of the protocol that this registry speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revision {
    /// The last one with `initialize`.
    November2025,
    /// The first one without sessions: each request states its revision, its client and that client's capabilities.
    July2026,
}

impl Revision {
    /// All revisions, the newest first.
    pub const ALL: [Self; 2] = [Self::July2026, Self::November2025];

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::November2025 => "2025-11-25",
            Self::July2026 => "2026-07-28",
        }
    }

    /// Returns the revision of this name; `None` if this registry does not speak it.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }

    /// Returns whether each request states its revision, its client and that client's capabilities.
    pub fn is_stateless(self) -> bool {
        self == Self::July2026
    }
}
