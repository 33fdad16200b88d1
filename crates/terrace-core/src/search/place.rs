//! The places in which a query can be found.

/// The place in a line that a query was found in, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// The query is the name.
    Exact,
    /// A word of the name begins with it.
    WordPrefix,
    /// The name contains it.
    Name,
    /// A word of the description begins with it.
    Description,
    /// It is a word of the interface of the root module.
    Interface,
    /// It is a word of the interface of a submodule.
    Submodules,
    /// A word of an interface begins with it.
    InterfacePart,
    /// The description contains it.
    DescriptionPart,
}

/// The best place of a word in the interface of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place<'t> {
    pub(super) rank: Rank,
    /// The word that is, or begins with, that of the query.
    pub(super) word: &'t str,
}

impl Rank {
    const ALL: [Self; 8] = [
        Self::Exact,
        Self::WordPrefix,
        Self::Name,
        Self::Description,
        Self::Interface,
        Self::Submodules,
        Self::InterfacePart,
        Self::DescriptionPart,
    ];

    /// Returns the number in cursors.
    pub(super) fn number(self) -> usize {
        Self::ALL.iter().position(|rank| *rank == self).unwrap_or(0)
    }

    pub(super) fn of_number(text: &str) -> Option<Self> {
        let mut ranks = Self::ALL.into_iter();
        ranks.find(|rank| rank.number().to_string() == text)
    }
}
