//! The corpus of the fuzzers, and small mutations of it, run through the same targets on any toolchain.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use terrace_fuzz_targets::TARGETS;

use crate::support::cases;

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz")
        .join(name)
}

/// Returns the stored corpus of a target.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let mut files: Vec<PathBuf> = fs::read_dir(directory("corpus").join(target))
        .unwrap_or_else(|error| panic!("the corpus of {target}: {error}"))
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn every_target_has_a_program_and_a_corpus() {
    let known: BTreeSet<String> = TARGETS.iter().map(|it| it.0.to_owned()).collect();
    let files = fs::read_dir(directory("fuzz_targets")).unwrap();
    let programs: BTreeSet<String> = files
        .map(|file| {
            file.unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(programs, known);
    let kept = |target: &String| !corpus(target).is_empty();
    assert!(known.iter().all(kept));
}

#[test]
fn the_corpus_breaks_no_target() {
    for (name, target) in TARGETS {
        for input in corpus(name) {
            target(&input);
        }
    }
}

#[test]
fn mutations_of_the_corpus_break_no_target() {
    let count = cases(500, 15_000);
    for (name, target) in TARGETS {
        let corpus = corpus(name);
        let mut rng = StdRng::seed_from_u64(count.into());
        for _ in 0..count {
            target(&changed(&corpus, &mut rng));
        }
    }
}

/// Returns an input with some bytes changed, removed, doubled, or taken from another input.
fn changed(corpus: &[Vec<u8>], rng: &mut StdRng) -> Vec<u8> {
    let mut input = corpus[rng.gen_range(0..corpus.len())].clone();
    for _ in 0..rng.gen_range(1..=4) {
        let at = rng.gen_range(0..=input.len());
        let end = rng.gen_range(at..=input.len().min(at + 16));
        match rng.gen_range(0..5) {
            0 if at < input.len() => input[at] = rng.r#gen(),
            1 => drop(input.drain(at..end)),
            2 => {
                let doubled = input[at..end].to_vec();
                input.splice(at..at, doubled);
            }
            3 => input.truncate(at),
            _ => {
                let other = &corpus[rng.gen_range(0..corpus.len())];
                let from = rng.gen_range(0..=other.len());
                let to = rng.gen_range(from..=other.len());
                input.splice(at..end, other[from..to].iter().copied());
            }
        }
    }
    input
}
