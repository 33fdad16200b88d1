//! Two publishers at once, at the moments where it matters.

use std::rc::Rc;

use terrace::store::Clock as _;

use crate::support::memory::{Memory, When};
use crate::support::{ModuleFixture, Registry};

fn versions(registry: &Registry, fixture: &ModuleFixture) -> Vec<String> {
    let json = registry
        .get(&format!("{}/versions", fixture.path()))
        .expect(200)
        .json();
    let listed = json["modules"][0]["versions"].as_array().unwrap();
    listed
        .iter()
        .map(|version| version["version"].as_str().unwrap().to_owned())
        .collect()
}

/// The other publisher commits, lists and writes its list between this one's listing and writing,
/// so this one's list is old when it overwrites the newer.
#[test]
fn a_version_committed_while_another_is_being_listed_is_not_lost() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let (ours, theirs) = (
        ModuleFixture::of("acme", "1.0.0"),
        ModuleFixture::of("acme", "1.1.0"),
    );
    ours.upload(&registry);
    theirs.upload(&registry);
    let other = Registry::in_memory(&memory, &[]);
    let late = theirs.clone();
    memory.after_list(move || {
        late.put(&other).expect(201);
    });
    ours.put(&registry).expect(201);
    assert_eq!(versions(&registry, &ours), ["1.0.0", "1.1.0"]);
}

/// A reader's write takes effect, its answer is lost, and meanwhile somebody has published: the
/// reader has replaced the newer list and has to notice.
#[test]
fn a_reader_whose_write_seems_to_have_failed_does_not_unlist_what_was_published_meanwhile() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let (first, second) = (
        ModuleFixture::of("acme", "1.0.0"),
        ModuleFixture::of("acme", "1.1.0"),
    );
    first.publish(&registry);
    second.upload(&registry);
    memory.lose_indices();
    let (other, late, faults) = (
        Registry::in_memory(&memory, &[]),
        second.clone(),
        memory.clone(),
    );
    memory.after_list(move || {
        late.put(&other).expect(201);
        faults.fail_write(0, When::After);
    });
    versions(&registry, &first);
    assert!(memory.take_fault());
    assert_eq!(versions(&registry, &first), ["1.0.0", "1.1.0"]);
}

#[test]
fn a_reader_has_its_answer_whatever_becomes_of_the_list() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let (first, second) = (
        ModuleFixture::of("acme", "1.0.0"),
        ModuleFixture::of("acme", "1.1.0"),
    );
    first.publish(&registry);
    second.upload(&registry);
    memory.lose_indices();
    let (other, late, faults) = (
        Registry::in_memory(&memory, &[]),
        second.clone(),
        memory.clone(),
    );
    memory.after_list(move || {
        late.put(&other).expect(201);
        // The reader's first write works, the one that would mend it does not.
        faults.fail_write(1, When::Before);
    });
    versions(&registry, &first);
    assert!(memory.take_fault());
}

#[test]
fn a_list_that_can_never_be_written_is_given_up_within_half_a_minute() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.upload(&registry);
    memory.busy_index_writes(usize::MAX);
    let before = memory.now().0;
    fixture.put(&registry).expect(503);
    assert!(memory.now().0 - before <= 45, "{}", memory.now().0 - before);
}

#[test]
fn a_reader_that_mends_a_list_does_not_overwrite_a_newer_one() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let (first, second) = (
        ModuleFixture::of("acme", "1.0.0"),
        ModuleFixture::of("acme", "1.1.0"),
    );
    first.publish(&registry);
    second.upload(&registry);
    memory.lose_indices();
    let other = Registry::in_memory(&memory, &[]);
    let late = second.clone();
    memory.after_list(move || {
        late.put(&other).expect(201);
    });
    versions(&registry, &first);
    assert_eq!(versions(&registry, &first), ["1.0.0", "1.1.0"]);
}

#[test]
fn two_publishers_of_one_version_with_the_same_bytes_are_both_right() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.upload(&registry);
    let statuses = Rc::new(std::cell::RefCell::new(Vec::new()));
    let (other, same, seen) = (
        Registry::in_memory(&memory, &[]),
        fixture.clone(),
        Rc::clone(&statuses),
    );
    memory.before_commit(move || seen.borrow_mut().push(same.put(&other).status));
    let ours = fixture.put(&registry).status;
    assert_eq!(
        (statuses.borrow().as_slice(), ours),
        ([201].as_slice(), 200)
    );
}

#[test]
fn of_two_publishers_of_one_version_with_other_bytes_one_wins() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let ours = ModuleFixture::of("acme", "1.0.0");
    let theirs = ours.clone().with_zip(crate::support::fixtures::zip_of(&[(
        "main.tf",
        b"# theirs",
    )]));
    ours.upload(&registry);
    theirs.upload(&registry);
    let (other, late) = (Registry::in_memory(&memory, &[]), theirs.clone());
    memory.before_commit(move || {
        late.put(&other).expect(201);
    });
    ours.put(&registry).expect(409);
    theirs.put(&registry).expect(200);
}

#[test]
fn a_list_that_is_written_too_often_is_written_a_second_later() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[]);
    let fixture = ModuleFixture::of("acme", "1.0.0");
    fixture.upload(&registry);
    memory.busy_index_writes(5);
    fixture.put(&registry).expect(201);
    assert_eq!(versions(&registry, &fixture), ["1.0.0"]);
}
