//! Tests of the memory itself: if it does not behave as the platform does, the tests that use it prove
//! nothing.

use futures_util::FutureExt as _;
use terrace_app::host::{Clock as _, Condition, Facts, Indices, StoreError};
use terrace_core::storage::index_document::{IndexDocument, IndexMetadata};
use terrace_core::storage::key::{FactKey, IndexKey};

use super::{ARRIVAL_MS, Memory};
use crate::support::faults::{Break, Failure, Operations, When};

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
            revoked: None,
            is_blocked: false,
            etag: "\"x\"".to_owned(),
            content: None,
            pull: None,
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
fn a_conditional_write_takes_effect_only_if_its_condition_holds() {
    let memory = Memory::new();
    let any = |text| done(put(&memory, text, Condition::Any)).unwrap();
    let absent = |text| done(put(&memory, text, Condition::Absent)).unwrap();
    let unchanged = |text, etag| done(put(&memory, text, Condition::Unchanged(etag))).unwrap();
    let fact = || done(Facts::get(&memory, &FACT)).unwrap().unwrap();
    assert!(absent("a") && !absent("b"));
    let etag = fact().etag;
    assert!(unchanged("a", etag.clone()), "the same bytes");
    assert!(any("b") && !unchanged("c", etag));
    assert_eq!(fact().bytes, b"b");
    done(Facts::delete(&memory, &FACT)).unwrap();
    assert!(absent("d"));
}

#[test]
fn a_listing_is_split_into_consecutive_pages() {
    let memory = Memory::new();
    for key in ["audit", "audit/1", "audit/2", "audit/3", "audita"] {
        memory.put_object(key, b"x");
    }
    let page = |after| {
        let page = done(memory.list("audit/", after, 2)).unwrap();
        let names = page.facts.into_iter().map(|fact| fact.name);
        (names.collect::<Vec<_>>().join(" "), page.is_truncated)
    };
    assert_eq!(page(None), ("1 2".to_owned(), true));
    assert_eq!(page(Some("1")), ("2 3".to_owned(), false));
    assert_eq!(page(Some("3")), (String::new(), false));
    memory.list_nothing();
    assert_eq!(page(None), (String::new(), true));
    assert_eq!(page(Some("2")), ("3".to_owned(), false));
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
fn an_action_runs_between_the_operations_of_others() {
    let memory = Memory::new();
    let other = memory.clone();
    let commit = memory.before(Operations::Commits, move || {
        done(put(&other, "theirs", Condition::Any)).unwrap();
    });
    let other = memory.clone();
    memory.run("KV put", 1, When::After, move || {
        assert_eq!(seen(&other, 30).as_deref(), Some("b"));
        other.lose_indices();
    });
    assert_eq!(done(put(&memory, "ours", Condition::Absent)), Ok(false));
    assert!(commit.is_reached());
    for (text, there) in [("a", 1), ("b", 0)] {
        done(put_index(&memory, text)).unwrap();
        assert_eq!(memory.indices().len(), there);
    }
    let fact = format!("R2 put {FACT}");
    let index = format!("KV put {INDEX}");
    let wanted = [&fact, &fact, &index, &index];
    assert!(memory.operations().iter().eq(wanted));
}

#[test]
fn a_busy_write_changes_nothing_and_names_its_key() {
    let memory = Memory::new();
    memory.fail("KV put", 0..2, When::Before, Failure::Busy);
    for _ in 0..2 {
        let busy = done(put_index(&memory, "a"));
        assert_eq!(busy, Err(StoreError::Busy(INDEX.to_string())));
    }
    assert!(memory.indices().is_empty());
    done(put_index(&memory, "a")).unwrap();
}

#[test]
fn an_edge_keeps_a_value_as_long_as_its_reader_allows() {
    let memory = Memory::new();
    done(put_index(&memory, "a")).unwrap();
    memory.at_an_edge();
    assert_eq!(seen(&memory, 60).as_deref(), Some("a"));
    done(put_index(&memory, "b")).unwrap();
    memory.advance(59);
    assert_eq!(seen(&memory, 60).as_deref(), Some("a"));
    assert_eq!(seen(&memory, 59).as_deref(), Some("b"));
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

#[test]
fn only_operations_of_a_frail_isolate_break() {
    let memory = Memory::with_rules(1);
    let frail = memory.at(1).frail(500);
    let mut broken = 0;
    for _ in 0..40 {
        let read = done(frail.until_killed(Facts::get(&frail, &FACT)));
        broken += u32::from(!matches!(read, Some(Ok(_))));
        done(Facts::get(&memory, &FACT)).unwrap();
    }
    assert!((1..40).contains(&broken), "{broken}");
}

#[test]
fn a_copy_shares_nothing_but_its_contents_and_time() {
    let memory = Memory::new();
    memory.put_object("a", b"a");
    memory.put_index("a", "a");
    memory.fail(Operations::All, 0.., When::Before, Failure::Error);
    memory.advance(7);
    let copy = memory.copy();
    assert_eq!(copy.objects(), memory.objects());
    assert_eq!(copy.documents(), memory.documents());
    assert_eq!(copy.now(), memory.now());
    done(put(&copy, "b", Condition::Any)).unwrap();
    copy.lose_indices();
    assert_eq!((memory.keys().len(), memory.indices().len()), (1, 1));
}
