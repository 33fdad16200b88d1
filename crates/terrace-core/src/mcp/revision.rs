//! The revisions of the protocol.

/// A revision of the protocol that this registry speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// The first one with this transport. Its clients send no header with the revision.
    March2025,
    /// The first one with the header, and with structured contents.
    June2025,
    /// The last one with `initialize`.
    November2025,
    /// The first one without sessions.
    July2026,
}

impl Revision {
    /// All revisions, the newest first.
    pub const ALL: [Self; 4] = [
        Self::July2026,
        Self::November2025,
        Self::June2025,
        Self::March2025,
    ];

    /// The newest revision with `initialize`.
    pub const NEWEST_WITH_INITIALIZE: Self = Self::November2025;

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::March2025 => "2025-03-26",
            Self::June2025 => "2025-06-18",
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
        self >= Self::July2026
    }

    /// Returns the revision to answer `initialize` with: the requested one if it has `initialize`, or else the newest that
    /// has.
    pub fn initialized(requested: &str) -> Self {
        let requested = Self::parse(requested).filter(|it| !it.is_stateless());
        requested.unwrap_or(Self::NEWEST_WITH_INITIALIZE)
    }
}
