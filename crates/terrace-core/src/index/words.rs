//! The words of the interfaces of modules: of the names of inputs, outputs, resource types and submodules.
//!
//! A card has the distinct words of its module, those of the root first: `azs cidr nat;endpoint policy`. A catalogue has a
//! table of them and of the [calls](super::calls) of its modules, a line for each word, ascending, with the numbers of the
//! packages that have it. A package's number is that of its line. Each is stored as twice its distance from the number before
//! it, plus one for a word that only submodules have, in digits of five bits, the lowest first; every digit but the last has
//! the sixth bit.
//!
//! ```text
//! gateway 42
//! nat 4
//! ```

use std::collections::{BTreeSet, HashMap};

use memchr::{memchr, memrchr};

use crate::documentation::{ModuleDetails, ModulePart};
use terrace_base::sort::sort_by;

/// Maximum length of the words of a card, in bytes. Of 18 public modules one has more; the mean is 1 KB.
pub(super) const WORDS_BYTES: usize = 2_048;

/// Separates the words of the root from those that only submodules have.
const SUBMODULES: char = ';';

/// The digit zero of numbers. The 64 digits follow each other.
const ZERO: u8 = b'0';

/// A package with a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordPlace {
    /// The number of the package.
    pub package: usize,
    /// Whether only its submodules have the word.
    pub is_of_submodule: bool,
}

/// The table of the words of a catalogue.
#[derive(Debug, Clone, Copy, Default)]
pub struct WordTable<'t>(&'t str);

/// Returns the distinct words of a module's interface; those that have no room are left out.
pub(super) fn of_module(module: &ModuleDetails) -> String {
    let submodules = module.submodules.iter();
    let offered = submodules.clone().map(|it| it.name.as_str());
    let root = names(&module.root).chain(offered);
    let others = submodules.flat_map(|it| names(&it.part));
    let mut known = BTreeSet::new();
    let mut text = String::new();
    add(&mut text, root, &mut known);
    text.push(SUBMODULES);
    add(&mut text, others, &mut known);
    text.trim_end_matches(SUBMODULES).to_owned()
}

/// Returns the names of what a directory has, for either client.
fn names(part: &ModulePart) -> impl Iterator<Item = &str> {
    let views = std::iter::once(part).chain(part.opentofu.as_deref());
    views.flat_map(|part| {
        let inputs = part.inputs.iter().map(|it| it.name.as_str());
        let outputs = part.outputs.iter().map(|it| it.name.as_str());
        let resources = part.resources.iter().map(|it| it.resource_type.as_str());
        inputs.chain(outputs).chain(resources)
    })
}

fn add<'n>(text: &mut String, names: impl Iterator<Item = &'n str>, known: &mut BTreeSet<String>) {
    let words = names.flat_map(|name| name.split(|c: char| !c.is_ascii_alphanumeric()));
    for word in words.filter(|word| !word.is_empty()) {
        let word = word.to_ascii_lowercase();
        // A separator precedes each word, and another one the words of submodules.
        if text.len() + word.len() + 2 > WORDS_BYTES || known.contains(&word) {
            continue;
        }
        if !text.is_empty() && !text.ends_with(SUBMODULES) {
            text.push(' ');
        }
        text.push_str(&word);
        known.insert(word);
    }
}

/// Returns the length in a table of the words of a package, about two bytes for each of some eight.
pub(super) fn length_in_table(words: &str) -> usize {
    words.len() / 4
}

/// Returns the table of packages with these words and calls, in the order of their numbers.
pub(super) fn table<'w>(packages: impl Iterator<Item = (&'w str, &'w str)>) -> String {
    let mut table: HashMap<&str, (usize, String)> = HashMap::new();
    for (number, (words, calls)) in packages.enumerate() {
        let words = words.split(SUBMODULES).zip([false, true]);
        for (words, is_of_submodule) in words.chain([(calls, false)]) {
            for word in words.split(' ').filter(|word| !word.is_empty()) {
                let (last, places) = table.entry(word).or_default();
                push_number(places, 2 * (number - *last) + usize::from(is_of_submodule));
                *last = number;
            }
        }
    }
    let mut lines: Vec<(&str, (usize, String))> = table.into_iter().collect();
    sort_by(&mut lines, |one, other| one.0.cmp(other.0));
    let mut text = String::new();
    for (word, (_, places)) in &lines {
        text.extend([word, " ", places, "\n"]);
    }
    text
}

fn push_number(text: &mut String, mut number: usize) {
    loop {
        let more = if number > 31 { 32 } else { 0 };
        let digit = u8::try_from(number & 31).unwrap_or_default();
        text.push(char::from(ZERO + digit + more));
        number >>= 5;
        if number == 0 {
            return;
        }
    }
}

impl<'t> WordTable<'t> {
    /// The table in a stored text.
    pub(super) fn new(text: &'t str) -> Self {
        Self(text)
    }

    /// Returns the words that begin with a text, ascending, each with the packages that have it.
    pub fn beginning_with(
        self,
        start: &str,
    ) -> impl Iterator<Item = (&'t str, impl Iterator<Item = WordPlace>)> {
        let rest = self.0.get(self.first_from(start)..).unwrap_or_default();
        let lines = rest.lines().map_while(|line| line.split_once(' '));
        let words = lines.take_while(move |(word, _)| word.starts_with(start));
        words.map(|(word, places)| (word, self::places(places)))
    }

    /// Returns the packages that have exactly this word.
    pub fn places_of(self, word: &str) -> impl Iterator<Item = WordPlace> {
        let first = self.beginning_with(word).next();
        let found = first.filter(|(found, _)| *found == word);
        found.into_iter().flat_map(|(_, places)| places)
    }

    /// Returns the position of the first line with a word that is not before a text.
    fn first_from(self, start: &str) -> usize {
        let table = self.0.as_bytes();
        let (mut low, mut high) = (0, table.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let before = table.get(low..middle).unwrap_or_default();
            let begin = memrchr(b'\n', before).map_or(low, |at| low + at + 1);
            let rest = table.get(begin..).unwrap_or_default();
            let word = rest.get(..memchr(b' ', rest).unwrap_or(rest.len()));
            match word < Some(start.as_bytes()) {
                true => low = begin + memchr(b'\n', rest).map_or(rest.len(), |at| at + 1),
                false => high = begin,
            }
        }
        low
    }
}

/// Parses the packages of a line, up to the first number of another form.
fn places(text: &str) -> impl Iterator<Item = WordPlace> {
    let mut digits = text.bytes();
    let mut package = 0_usize;
    std::iter::from_fn(move || {
        let (mut number, mut shift) = (0, 0);
        loop {
            let digit = usize::from(digits.next()?.checked_sub(ZERO)?);
            number |= (digit & 31).checked_shl(shift)?;
            shift += 5;
            if digit < 32 {
                break;
            }
        }
        package = package.checked_add(number / 2)?;
        Some(WordPlace {
            package,
            is_of_submodule: number % 2 == 1,
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::pinned::assert_pinned;
    use proptest::prelude::*;

    fn found(table: &str, start: &str) -> Vec<(String, Vec<(usize, bool)>)> {
        let words = WordTable::new(table).beginning_with(start);
        words
            .map(|(word, places)| {
                let places = places.map(|it| (it.package, it.is_of_submodule));
                (word.to_owned(), places.collect())
            })
            .collect()
    }

    #[test]
    fn the_table_is_pinned() {
        let packages = ["cidr nat", "", "nat;gateway", "gateway;nat"].into_iter();
        let far = std::iter::repeat_n("", 96).chain(["vpc"]);
        let others = packages.chain(far).map(|words| (words, ""));
        assert_pinned(
            &table(others.chain([("nat", "/acme/vpc/aws")])),
            "/acme/vpc/aws Z6\ncidr 0\ngateway 52\nnat 043T6\nvpc X6\n",
        );
    }

    proptest! {
        #[test]
        fn each_word_is_found_in_its_packages(
            packages in prop::collection::vec(("[a-c]{1,2}( [a-c]{1,2}){0,3}", "[d-e]{0,2}"), 0..90),
            start in "[a-e]{0,3}",
        ) {
            let words: Vec<String> = packages.iter().map(|(root, other)| format!("{root};{other}")).collect();
            let table = table(words.iter().map(|words| (words.as_str(), "")));
            let mut expected: BTreeMap<String, BTreeMap<usize, bool>> = BTreeMap::new();
            for (number, (root, other)) in packages.iter().enumerate() {
                let root = root.split(' ').map(|word| (word, false));
                for (word, is_other) in root.chain([(other.as_str(), true)]) {
                    if !word.is_empty() && word.starts_with(&start) {
                        expected.entry(word.to_owned()).or_default().insert(number, is_other);
                    }
                }
            }
            let found: BTreeMap<String, BTreeMap<usize, bool>> = found(&table, &start)
                .into_iter()
                .map(|(word, places)| (word, places.into_iter().collect()))
                .collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn no_stored_table_panics(table in "(?s)([a-z]{0,3} [0-o]{0,20}\n|.{0,5}){0,6}", start in "[a-z]{0,2}") {
            let _ = found(&table, &start);
        }
    }
}
