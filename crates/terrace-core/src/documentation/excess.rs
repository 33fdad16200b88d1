//! The entries of a head beyond the limits: each one becomes a part of a page.

use std::iter;

use serde::Serialize;

use super::head::{Contents, Head};
use super::module::{ModuleDetails, ModulePart};
use crate::limits;

/// The number of entries that the part in turn and all parts may still have.
struct Quota {
    of_part: usize,
    of_module: usize,
}

impl Head {
    /// Removes the notes, submodules, examples, and entries of modules that exceed the limits, and returns their number.
    pub fn remove_excess(&mut self) -> usize {
        let before = self.notes.len();
        self.notes
            .retain(|note| note.chars().nth(limits::DOCUMENTATION_NOTE_CHARS).is_none());
        self.notes.truncate(limits::DOCUMENTATION_NOTES);
        let notes = before - self.notes.len();
        match &mut self.contents {
            Contents::Module(module) => notes + of_module(module),
            Contents::Provider(_) => notes,
        }
    }
}

fn of_module(module: &mut ModuleDetails) -> usize {
    let mut removed = 0;
    for parts in [&mut module.submodules, &mut module.examples] {
        removed += parts.len().saturating_sub(limits::MODULE_PARTS);
        parts.truncate(limits::MODULE_PARTS);
    }
    let mut quota = Quota {
        of_part: 0,
        of_module: limits::MODULE_ENTRIES,
    };
    let named = module.submodules.iter_mut().chain(&mut module.examples);
    for part in iter::once(&mut module.root).chain(named.map(|named| &mut named.part)) {
        removed += quota.apply(part);
    }
    removed
}

impl Quota {
    fn apply(&mut self, part: &mut ModulePart) -> usize {
        let removed = self.apply_to_lists(part);
        let Some(view) = &mut part.opentofu else {
            return removed;
        };
        // A view has no view of its own.
        let nested = usize::from(view.opentofu.take().is_some());
        removed + nested + self.apply_to_lists(view)
    }

    fn apply_to_lists(&mut self, part: &mut ModulePart) -> usize {
        self.of_part = limits::PART_ENTRIES;
        self.retain(&mut part.inputs)
            + self.retain(&mut part.outputs)
            + self.retain(&mut part.resources)
            + self.retain(&mut part.providers)
            + self.retain(&mut part.required_versions)
            + self.retain(&mut part.calls)
            + self.retain(&mut part.errors)
    }

    fn retain<E: Serialize>(&mut self, entries: &mut Vec<E>) -> usize {
        let before = entries.len();
        entries.retain(|entry| {
            let is_short =
                serde_json::to_vec(entry).is_ok_and(|it| it.len() <= limits::ENTRY_BYTES);
            let is_kept = is_short && self.of_part > 0 && self.of_module > 0;
            if is_kept {
                self.of_part -= 1;
                self.of_module -= 1;
            }
            is_kept
        });
        before - entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documentation::{HeadError, NamedPart};
    use crate::model::package::Package;

    fn outcome(details: ModuleDetails, notes: Vec<String>) -> Result<(), usize> {
        let mut head = Head::new(Contents::Module(details), notes);
        let package = Package::Module("acme/vpc/aws".parse().unwrap());
        let parse = |head: &Head| Head::parse(&serde_json::to_vec(head).unwrap(), &package, 0);
        let parsed = match parse(&head) {
            Ok(_) => Ok(()),
            Err(HeadError::Excess(count)) => Err(count),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(head.remove_excess(), parsed.err().unwrap_or(0));
        assert!(parse(&head).is_ok());
        parsed
    }

    fn part(errors: usize) -> ModulePart {
        ModulePart {
            errors: vec![String::new(); errors],
            ..ModulePart::default()
        }
    }

    fn named(count: usize, errors: usize) -> Vec<NamedPart> {
        let part = NamedPart {
            name: "a".parse().unwrap(),
            part: part(errors),
            files: Vec::new(),
        };
        vec![part; count]
    }

    #[test]
    fn the_entries_of_a_part_and_of_all_are_limited() {
        let of = |root, submodules, examples| {
            let details = ModuleDetails {
                root: part(root),
                submodules,
                examples,
                ..ModuleDetails::default()
            };
            outcome(details, Vec::new())
        };
        const PART: usize = limits::PART_ENTRIES;
        assert_eq!(of(PART, named(1, PART), named(2, PART)), Ok(()));
        assert_eq!(of(PART + 2, Vec::new(), named(1, PART + 1)), Err(3));
        assert_eq!(of(7, named(4, PART), Vec::new()), Err(7));
        assert_eq!(of(0, named(500, 1), named(500, 1)), Ok(()));
        assert_eq!(of(0, named(501, 1), named(503, 1)), Err(4));
    }

    #[test]
    fn the_entries_that_only_opentofu_reads_are_limited() {
        let view = |opentofu, errors| ModulePart {
            opentofu: Some(Box::new(opentofu)),
            ..part(errors)
        };
        let of = |root| {
            let details = ModuleDetails {
                root,
                ..ModuleDetails::default()
            };
            outcome(details, Vec::new())
        };
        const PART: usize = limits::PART_ENTRIES;
        assert_eq!(of(view(part(PART), PART)), Ok(()));
        assert_eq!(of(view(part(PART + 2), 1)), Err(2));
        assert_eq!(of(view(view(part(0), 0), 0)), Err(1));
    }

    #[test]
    fn the_length_of_an_entry_is_limited() {
        let of = |bytes| {
            let mut root = part(0);
            root.required_versions = vec!["x".repeat(bytes), "y".to_owned()];
            let details = ModuleDetails {
                root,
                ..ModuleDetails::default()
            };
            outcome(details, Vec::new())
        };
        assert_eq!(of(limits::ENTRY_BYTES - 2), Ok(()));
        assert_eq!(of(limits::ENTRY_BYTES - 1), Err(1));
    }

    #[test]
    fn the_notes_are_limited() {
        let of = |count, chars| outcome(ModuleDetails::default(), vec!["é".repeat(chars); count]);
        assert_eq!(of(limits::DOCUMENTATION_NOTES, 1_000), Ok(()));
        assert_eq!(of(limits::DOCUMENTATION_NOTES + 2, 1), Err(2));
        assert_eq!(of(3, 1_001), Err(3));
    }
}
