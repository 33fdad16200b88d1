//! Tests of the memory itself: if it does not behave as the platform does, the tests that use it prove
//! nothing. The contracts of its objects are tested in `terrace-server`.

use futures_util::FutureExt as _;
use terrace_app::host::{Condition, Facts, Indices, StoreError};
use terrace_core::storage::index_document::{IndexDocument, IndexMetadata};
use terrace_core::storage::key::{FactKey, IndexKey};

use super::{ARRIVAL_MS, Memory};
use crate::support::faults::Break;

const FACT: FactKey = FactKey::RepairCursor;
const INDEX: IndexKey = IndexKey::Revocations;

/// Writes a document. Returns whether its condition held.
async fn put(memory: &Memory, text: &str, condition: Condition) -> Result<bool, StoreError> {
    let revision = Facts::put(memory, &FACT, text, &[], condition).await?;
    Ok(revision.is_some())
}

async fn put_index(memory: &Memory, text: &str) -> Result<(), StoreError> {
    let document = IndexDocument {
        text: text.to_owned(),
        metadata: IndexMetadata {
            etag: "\"x\"".to_owned(),
            ..IndexMetadata::default()
        },
    };
    Indices::put(memory, &INDEX, &document).await
}

/// Returns the result of a future that never waits.
#[track_caller]
fn done<T>(future: impl Future<Output = T>) -> T {
    future
        .now_or_never()
        .expect("operations in memory are immediate")
}

fn is_busy<T>(result: Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Busy(_)))
}

/// Returns the index as seen by a location that may cache it for `cache_seconds`.
fn seen(memory: &Memory, cache_seconds: u32) -> Option<String> {
    let document = memory.read_index(&INDEX.to_string(), cache_seconds);
    document.map(|document| document.text)
}

#[test]
fn a_broken_write_takes_effect_unless_it_is_broken_before() {
    for (how, is_written, is_killed) in [
        (Break::Before, false, false),
        (Break::After, true, false),
        (Break::Busy, false, false),
        (Break::KilledBefore, false, true),
        (Break::KilledAfter, true, true),
        (Break::Outage, false, false),
    ] {
        let memory = Memory::new();
        let fault = memory.break_at(0, how);
        let written = done(memory.until_killed(put(&memory, "a", Condition::Any)));
        assert_eq!(written.is_none(), is_killed, "{how:?}");
        assert!(written.is_none_or(|result| result.is_err()), "{how:?}");
        assert!(fault.is_reached(), "{how:?}");
        assert_eq!(memory.keys().len(), usize::from(is_written), "{how:?}");
        let again = done(put(&memory, "a", Condition::Any));
        assert_eq!(again.is_err(), how == Break::Outage, "{how:?}");
    }
}

#[test]
fn storage_with_rules_accepts_one_write_of_a_key_a_second() {
    let memory = Memory::with_rules(1);
    done(put(&memory, "a", Condition::Any)).unwrap();
    done(put_index(&memory, "a")).unwrap();
    assert!(is_busy(done(put(&memory, "b", Condition::Any))));
    assert!(is_busy(done(put_index(&memory, "b"))));
    assert_eq!(memory.refused_writes(), 2);
    memory.advance(1);
    done(put(&memory, "b", Condition::Any)).unwrap();
    done(put_index(&memory, "b")).unwrap();
}

#[test]
fn storage_with_rules_shows_a_write_everywhere_after_a_minute_and_somewhere_earlier() {
    let mut early = 0;
    for seed in 0..20 {
        let memory = Memory::with_rules(seed);
        done(put_index(&memory, "a")).unwrap();
        early += u32::from(seen(&memory.at(1), 0).is_some());
        memory.advance_ms(ARRIVAL_MS);
        assert_eq!(seen(&memory.at(2), 0).as_deref(), Some("a"), "{seed}");
    }
    assert!((1..20).contains(&early), "{early}");
}
