//! Tests of whole archives.

use terrace_core::documentation::{
    DocumentationKind, Input, ModuleDetails, ModulePart, NamedPart, Page, ProviderDetails,
    ProviderPage, Symbol,
};

use terrace_core::limits::PART_ENTRIES;

use super::*;
use crate::draft::UNPACKED;

fn module() -> Package {
    Package::Module("acme/vpc/aws".parse().unwrap())
}

fn provider() -> Package {
    Package::Provider("acme/widget".parse().unwrap())
}

fn draft(contents: Contents, pages: Vec<Vec<u8>>) -> Draft {
    Draft {
        contents,
        notes: vec!["a note".to_owned()],
        pages,
        warnings: Vec::new(),
    }
}

fn page(number: usize) -> ProviderPage {
    ProviderPage {
        kind: DocumentationKind::Resource,
        name: format!("page{number:06}").parse().unwrap(),
        title: "\u{1}".repeat(300),
        subcategory: Some("\u{1}".repeat(300)),
        description: Some("\u{1}".repeat(300)),
        member: UNPACKED,
        is_truncated: false,
        is_generated: false,
    }
}

fn part(readme: usize) -> ModulePart {
    ModulePart {
        readme: Some("é".repeat(readme / 2)),
        ..ModulePart::default()
    }
}

fn named(name: &str, part: ModulePart) -> NamedPart {
    NamedPart {
        name: name.parse().unwrap(),
        part,
        files: Vec::new(),
    }
}

/// Packs an archive, checks that it is read as written, and returns its details and notes.
fn packed_module(details: ModuleDetails) -> (ModuleDetails, Vec<String>) {
    let head = packed(Contents::Module(details), Vec::new(), &module());
    let Contents::Module(details) = head.contents else {
        panic!("a module");
    };
    (details, head.notes)
}

fn packed(contents: Contents, pages: Vec<Vec<u8>>, package: &Package) -> Head {
    let archive = draft(contents, pages).pack();
    assert!(archive.bytes.len() as u64 <= DOCUMENTATION_BYTES);
    let open = OpenArchive::parse(&archive.bytes, package).unwrap();
    assert_eq!(*open.head(), archive.head);
    archive.head
}

#[test]
fn an_archive_is_read_as_written() {
    let mut details = ModuleDetails::default();
    let mut example = named("simple", part(10));
    example.files = ["a.tf", "b.tf"]
        .map(|name| Page {
            name: name.parse().unwrap(),
            member: UNPACKED,
            is_truncated: false,
        })
        .to_vec();
    details.examples.push(example);
    let pages = vec![b"one".to_vec(), b"two".repeat(100)];
    let archive = draft(Contents::Module(details), pages.clone()).pack();
    let open = OpenArchive::parse(&archive.bytes, &module()).unwrap();
    let Contents::Module(details) = &open.head().contents else {
        panic!("a module");
    };
    let found: Vec<_> = details
        .files()
        .map(|file| open.page(file.member).unwrap())
        .collect();
    assert_eq!(found, pages);
    let outside = Member {
        offset: u64::MAX,
        length: 2,
        size: 1,
    };
    let error = open.page(outside).unwrap_err();
    assert!(error.contains("outside the archive"), "{error}");
    assert!(OpenArchive::parse(&archive.bytes, &provider()).is_err());
}

#[test]
fn an_archive_keeps_its_bytes() {
    let archive = draft(Contents::Module(ModuleDetails::default()), Vec::new()).pack();
    let digest = crc32fast::hash(&archive.bytes);
    // A change is intended if the format or the compressor changes: then stored archives are uploaded again.
    assert_eq!(
        (archive.bytes.len(), digest),
        (PINNED_LENGTH, PINNED_DIGEST)
    );
}

const PINNED_LENGTH: usize = 82;
const PINNED_DIGEST: u32 = 2_913_284_731;

#[test]
fn readme_texts_of_submodules_are_cut_before_that_of_the_root() {
    let mut details = ModuleDetails {
        root: part(400_000),
        ..ModuleDetails::default()
    };
    for number in 0..10 {
        details
            .submodules
            .push(named(&format!("part{number}"), part(400_000)));
    }
    let (details, notes) = packed_module(details);
    let length = |part: &ModulePart| part.readme.as_ref().map_or(0, String::len);
    assert_eq!(length(&details.root), 400_000);
    assert_eq!(length(&details.submodules[0].part), 10_000 + "…".len());
    assert_eq!(notes.len(), 2);
}

#[test]
fn a_head_of_any_size_fits() {
    let input = |number: usize| Input {
        name: format!("input{number}"),
        constraint: Some("string".repeat(100)),
        description: Some("\u{1}".repeat(2_000)),
        default: Some("null".to_owned()),
        is_sensitive: false,
        is_ephemeral: false,
        is_nullable: None,
        deprecated: None,
    };
    for (count, parts) in [(200, 1), (1_500, 0), (2, 40)] {
        let tofu = ModulePart {
            inputs: (0..count / 2).map(input).collect(),
            ..ModulePart::default()
        };
        let root = ModulePart {
            inputs: (0..count).map(input).collect(),
            opentofu: Some(Box::new(tofu)),
            ..part(40_000)
        };
        let details = ModuleDetails {
            submodules: (0..parts)
                .map(|number| named(&format!("part{number}"), root.clone()))
                .collect(),
            root,
            ..ModuleDetails::default()
        };
        assert!(packed_module(details).1.len() > 1);
    }
}

#[test]
fn entries_beyond_the_limits_are_left_out_with_a_note() {
    let root = ModulePart {
        required_versions: vec![">= 1.5".to_owned(); PART_ENTRIES + 3],
        ..part(40)
    };
    let details = ModuleDetails {
        root,
        ..ModuleDetails::default()
    };
    let (details, notes) = packed_module(details);
    assert_eq!(details.root.required_versions.len(), PART_ENTRIES);
    assert!(details.root.readme.is_some());
    assert!(notes[1].starts_with("3 inputs, outputs"), "{notes:?}");
}

#[test]
fn a_navigation_of_any_size_fits() {
    let symbol = |number: usize| Symbol {
        kind: DocumentationKind::Resource,
        name: format!("acme_{number}"),
        page: (number < 5).then(|| page(number).name),
        arguments: None,
    };
    let details = ProviderDetails {
        pages: (0..3_000).map(page).collect(),
        symbols: (0..40_000).map(symbol).collect(),
        arguments: None,
    };
    let pages = (0..3_000).map(|_| b"page".to_vec()).collect();
    let head = packed(Contents::Provider(details), pages, &provider());
    let Contents::Provider(details) = &head.contents else {
        panic!("a provider");
    };
    assert_eq!((details.pages.len(), details.symbols.len()), (2_000, 5));
    assert!(head.notes[1].starts_with("1000 pages were left out"));
}

#[test]
fn a_symbol_of_a_page_that_is_left_out_has_no_page() {
    let details = ProviderDetails {
        pages: vec![page(0), page(1)],
        symbols: vec![Symbol {
            kind: DocumentationKind::Resource,
            name: "acme_page".to_owned(),
            page: Some(page(1).name),
            arguments: None,
        }],
        arguments: None,
    };
    let too_long = vec![b'x'; PAGE_BYTES as usize + 1];
    let archive = draft(Contents::Provider(details), vec![b"x".to_vec(), too_long]).pack();
    let Contents::Provider(details) = &archive.head.contents else {
        panic!("a provider");
    };
    assert_eq!((details.pages.len(), &details.symbols[0].page), (1, &None));
}
