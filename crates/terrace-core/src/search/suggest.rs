//! The query that a reader may have meant.

use super::candidates::{Visible, lines, package_in};
use super::rank::address_of;
use super::{Query, words};
use crate::index::catalog::CatalogText;
use crate::model::owner::Owner;

/// Minimum number of letters of a word that may have been meant.
const MEANT_LETTERS: usize = 4;

/// A word of a query, and the first word of the catalogue that differs from it by one edit.
struct Word<'q> {
    text: &'q str,
    is_known: bool,
    meant: Option<String>,
}

/// Returns the query with each unknown word replaced by one of a visible package that differs from it by one edit; `None`
/// if there is none.
pub(super) fn meant(
    query: &Query,
    texts: &[CatalogText<'_>],
    is_visible: &dyn Fn(&Owner) -> bool,
) -> Option<Query> {
    let unknown = |text| Word {
        text,
        is_known: false,
        meant: None,
    };
    let mut wanted: Vec<Word<'_>> = query.words().iter().map(|it| unknown(it)).collect();
    let mut visible = Visible::new(is_visible);
    for text in texts {
        let keys = lines(text.packages).map(|line| package_in(line).filter(|it| visible.has(it)));
        let keys: Vec<Option<&str>> = keys.collect();
        for known in keys.iter().flatten().flat_map(|key| words(address_of(key))) {
            wanted
                .iter_mut()
                .for_each(|word| word.compare(known, || true));
        }
        for word in &mut wanted {
            let Some(first) = word.text.get(..1) else {
                continue;
            };
            for (known, packages) in text.words.beginning_with(first) {
                let is_visible = |number: usize| keys.get(number).is_some_and(Option::is_some);
                word.compare(known, || packages.map(|it| it.package).any(is_visible));
            }
        }
    }
    let meant = wanted.iter().any(|word| word.meant().is_some());
    let words = wanted.iter().map(|it| it.meant().unwrap_or(it.text));
    let words: Vec<String> = words.map(str::to_owned).collect();
    meant.then(|| Query::of_words(words))
}

impl Word<'_> {
    /// Compares the word with one of the catalogue, if a visible package has it.
    fn compare(&mut self, known: &str, is_visible: impl FnOnce() -> bool) {
        let begins = |known: &str| {
            let start = known.get(..self.text.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(self.text))
        };
        let may_be_meant = self.meant.is_none() && known.len() >= MEANT_LETTERS;
        if self.is_known {
        } else if begins(known) {
            self.is_known = is_visible();
        } else if may_be_meant
            && is_one_edit(self.text.as_bytes(), known.as_bytes())
            && is_visible()
        {
            self.meant = Some(known.to_ascii_lowercase());
        }
    }

    fn meant(&self) -> Option<&str> {
        self.meant.as_deref().filter(|_| !self.is_known)
    }
}

/// Returns whether two words with the same first letter differ by one letter, or by two neighbours in the other order.
fn is_one_edit(one: &[u8], other: &[u8]) -> bool {
    if one.len() > other.len() {
        return is_one_edit(other, one);
    }
    let mut pairs = one.iter().zip(other);
    let at = pairs.position(|(a, b)| !a.eq_ignore_ascii_case(b));
    let at = at.unwrap_or(one.len());
    let rest = |word: &[u8], from: usize| word.get(from..).unwrap_or_default().to_ascii_lowercase();
    let is_swapped = || {
        let (mut ends, others) = (rest(one, at), rest(other, at));
        ends.len() > 1 && {
            ends.swap(0, 1);
            ends == others
        }
    };
    at > 0
        && match other.len() - one.len() {
            0 => rest(one, at + 1) == rest(other, at + 1) || is_swapped(),
            1 => rest(one, at) == rest(other, at + 1),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::is_one_edit;

    #[test]
    fn a_letter_or_two_neighbours_are_one_edit() {
        let is_one = |one: &str, other: &str| is_one_edit(one.as_bytes(), other.as_bytes());
        for typed in [
            "kubernets",
            "kuberneetes",
            "kubermetes",
            "kubenretes",
            "kubernete",
        ] {
            assert!(is_one(typed, "Kubernetes"), "{typed}");
        }
        for typed in ["cubernetes", "kubrnets", "kubernetesis", "k", ""] {
            assert!(!is_one(typed, "kubernetes"), "{typed}");
        }
    }
}
