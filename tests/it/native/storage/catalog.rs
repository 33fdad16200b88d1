//! Cards, and the catalogues that are built from them.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use futures_util::FutureExt as _;
use serde_json::json;
use terrace_app::host::{Condition, Facts};
use terrace_core::documentation::DocumentationKind;
use terrace_core::index::about::About;
use terrace_core::index::card::Card;
use terrace_core::index::catalog::{CatalogLine, CatalogSymbol, MergedPart};
use terrace_core::limits::{CARDS_WITH_SYMBOLS, CATALOG_SYMBOLS_BYTES, LIST_CACHE_SECONDS};
use terrace_core::storage::key::FactKey;

use crate::support::documented::{document_module, document_provider};
use crate::support::faults::{Break, Failure, When, is_of_catalog, is_write};
use crate::support::fixtures::{Signer, add_key};
use crate::support::memory::Memory;
use crate::support::registry::{CATALOG_SECONDS, Registry, Response};
use crate::support::reindexed::{reindex, reindex_with};
use crate::support::released::Released;
use crate::support::schedule::{Actor, Schedule};
use crate::support::statuses::{set_status, status_of};
use crate::support::{ModuleFixture, ProviderFixture};

fn in_memory() -> (Memory, Registry) {
    Registry::with_memory(&[])
}

/// Returns the lines of an owner's catalogue, by the names of the packages.
fn catalog(memory: &Memory, owner: &str) -> BTreeMap<String, CatalogLine> {
    let text = memory.index(&format!("catalog/{owner}")).text;
    let lines = MergedPart::parse(&text).unwrap().text.packages.lines();
    let lines = lines.map(|line| CatalogLine::parse(line).unwrap());
    lines.map(|line| (line.package.to_string(), line)).collect()
}

fn symbols(text: &str) -> Vec<CatalogSymbol> {
    let lines = text.lines();
    lines
        .map(|line| CatalogSymbol::parse(line).unwrap())
        .collect()
}

/// Publishes a documented provider and a documented module of one owner, and a module of another.
fn published() -> (Memory, Registry) {
    let (memory, registry) = in_memory();
    document_provider(&memory, "acme/widget", "1.0.0");
    ProviderFixture::of("acme", "widget", "1.0.0").publish(&registry);
    document_module(&memory, "acme/vpc/aws", "1.0.0");
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    ModuleFixture::of("Other", "2.0.0").publish(&registry);
    registry.merge_catalog();
    (memory, registry)
}

#[test]
fn a_publish_lists_its_package_in_the_catalogue_of_its_owner() {
    let (memory, _) = published();
    let acme = catalog(&memory, "acme");
    let provider = &acme["providers/hosted/acme/widget"];
    assert_eq!(provider.latest.to_string(), "1.0.0");
    assert_eq!(provider.description, "Manages widget of version 1.0.0.");
    assert!(provider.is_documented);
    let module = &acme["modules/acme/vpc/aws"];
    assert_eq!(module.description, "Creates things, as of 1.0.0.");
    let card = memory.object_bytes("cards/acme/modules/acme/vpc/aws");
    let card = Card::from_document(&card).unwrap();
    assert_eq!(card.words, "optional required");
    assert_eq!(acme.len(), 2);
    // An owner is in lower case, and a module's namespace need not be.
    let other = catalog(&memory, "other");
    assert_eq!(other.keys().collect::<Vec<_>>(), ["modules/Other/vpc/aws"]);
}

#[test]
fn the_symbols_of_the_newest_documented_version_are_listed() {
    let (memory, registry) = published();
    let of_acme = |memory: &Memory| symbols(&memory.index("symbols/acme").text);
    let found = of_acme(&memory);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, DocumentationKind::Resource);
    assert_eq!(found[0].name, "widget_thing");
    assert_eq!(found[0].version.to_string(), "1.0.0");
    assert!(!memory.indices().contains_key("symbols/other"));
    ProviderFixture::of("acme", "widget", "1.1.0").publish(&registry);
    assert_eq!(of_acme(&memory)[0].version.to_string(), "1.0.0");
    document_provider(&memory, "acme/widget", "1.2.0");
    ProviderFixture::of("acme", "widget", "1.2.0").publish(&registry);
    assert_eq!(of_acme(&memory)[0].version.to_string(), "1.2.0");
}

#[test]
fn a_key_status_changes_the_lines_of_all_packages_that_the_key_signed() {
    let (memory, registry) = published();
    ProviderFixture::of("acme", "gadget", "1.0.0").publish(&registry);
    let key = Signer::usual().key_id();
    let path = format!("/admin/v1/namespaces/acme/keys/{key}");
    set_status(&registry, &path, "revoked").expect(200);
    let acme = catalog(&memory, "acme");
    for package in ["gadget", "widget"] {
        let line = &acme[&format!("providers/hosted/acme/{package}")];
        assert_eq!(line.state.unwrap().to_string(), "revoked", "{package}");
    }
    // Its symbols cannot be used any more.
    assert!(!memory.indices().contains_key("symbols/acme"));
}

#[test]
fn a_missing_or_corrupt_archive_counts_as_no_documentation() {
    let (memory, registry) = in_memory();
    let archive = document_module(&memory, "acme/vpc/aws", "1.0.0");
    for bytes in [None, Some(b"not gzip".as_slice())] {
        match bytes {
            None => memory.remove_object(&archive),
            Some(bytes) => memory.put_object(&archive, bytes),
        }
        let published = Released::module("1.0.0").publish(&registry).now_or_never();
        assert!(matches!(published, Some(200 | 201)));
        let about = memory.index("modules/acme/vpc/aws/about/1.0.0").text;
        let about: About = serde_json::from_str(&about).unwrap();
        assert_eq!(about.documentation, None);
        let line = &catalog(&memory, "acme")["modules/acme/vpc/aws"];
        assert_eq!(line.description, "");
        memory.assert_logged(&format!("corrupt: {archive}"));
    }
}

/// Returns everything that the repair must restore.
fn stored(memory: &Memory) -> (BTreeMap<String, String>, BTreeMap<String, Vec<u8>>) {
    let mut cards = memory.objects();
    cards.retain(|key, _| key.starts_with("cards/"));
    (memory.indices(), cards)
}

#[test]
fn lost_cards_and_catalogues_are_rebuilt_by_a_repair_byte_for_byte() {
    let (memory, registry) = published();
    reindex(&registry);
    let whole = stored(&memory);
    let cards: Vec<String> = whole.1.keys().cloned().collect();
    assert_eq!(cards.len(), 3);
    for keeps_cards in [true, false] {
        for operations in ["40", "800"] {
            memory.lose_indices();
            if !keeps_cards {
                cards.iter().for_each(|card| memory.remove_object(card));
            }
            let vars = [("TERRACE_REPAIR_OPERATIONS", operations)];
            let told = reindex(&Registry::in_memory(&memory, &vars));
            assert_eq!(told.failed, [""; 0]);
            assert_eq!(stored(&memory), whole, "{keeps_cards} {operations}");
            assert_eq!(reindex(&registry).rewritten, [""; 0]);
        }
    }
}

#[test]
fn a_wrong_card_or_catalogue_is_rewritten_by_a_repair() {
    let (memory, registry) = published();
    reindex(&registry);
    let whole = stored(&memory);
    memory.put_object("cards/acme/modules/acme/vpc/aws", b"{}");
    memory.put_index("catalog/other", "[]");
    memory.put_index("symbols/acme", "[]");
    memory.put_index("merged-catalog/1", "{}");
    memory.put_index("modules/acme/vpc/aws/about/1.0.0", "{}");
    let mut rewritten = reindex_with(&registry, json!({ "full": true })).rewritten;
    rewritten.sort();
    let expected = [
        "catalog/acme",
        "catalog/other",
        "merged-catalog/1",
        "modules/acme/vpc/aws/tags",
        "releases/modules/acme/vpc/aws/1.0.0",
    ];
    assert_eq!(rewritten, expected);
    assert_eq!(stored(&memory), whole);
}

#[test]
fn a_copy_of_the_cards_without_their_metadata_has_the_same_catalogue() {
    let (memory, registry) = published();
    reindex(&registry);
    let whole = memory.indices();
    memory.lose_metadata();
    memory.lose_indices();
    reindex(&registry);
    assert_eq!(memory.indices(), whole);
}

#[test]
fn catalogues_without_cards_are_removed_by_a_repair() {
    let (memory, registry) = published();
    reindex(&registry);
    let whole = memory.indices();
    let stale = [
        "catalog/a.example/nobody",
        "catalog/nobody",
        "merged-catalog/2",
        "merged-catalog/3",
        "symbols/nobody",
    ];
    for key in stale {
        memory.put_index(key, "[]");
    }
    let mut removed = reindex(&registry).removed;
    removed.sort();
    assert_eq!(removed, stale);
    assert_eq!(memory.indices(), whole);
}

#[test]
fn symbols_of_an_owner_without_any_are_removed_by_a_repair_of_the_owner() {
    let (memory, registry) = published();
    reindex(&registry);
    let whole = memory.indices();
    memory.put_index("symbols/other", "[]");
    let repaired = reindex(&registry);
    assert_eq!(repaired.rewritten, ["catalog/other"]);
    assert_eq!(repaired.removed, [""; 0]);
    assert_eq!(memory.indices(), whole);
}

#[test]
fn a_repair_of_one_package_writes_its_card_and_the_catalogue_of_its_owner() {
    let (memory, registry) = published();
    let whole = memory.index("catalog/acme");
    memory.remove_object("cards/acme/modules/acme/vpc/aws");
    memory.put_index("catalog/acme", "[]");
    reindex_with(&registry, json!({ "package": "acme/vpc/aws" }));
    assert_eq!(memory.index("catalog/acme"), whole);
}

#[test]
fn parts_of_a_larger_catalogue_are_removed_by_the_next_rebuild() {
    let (memory, registry) = published();
    memory.put_index("merged-catalog/2", "x");
    memory.put_index("merged-catalog/3", "x");
    memory.advance(61);
    ModuleFixture::of("acme", "1.1.0").publish(&registry);
    let mut parts = memory.indices();
    parts.retain(|key, _| key.starts_with("merged-"));
    assert_eq!(parts.into_keys().collect::<Vec<_>>(), ["merged-catalog/1"]);
}

/// Copies the card of acme/widget for other providers.
fn copy_card(memory: &Memory, owner: &str, count: usize, symbol: &str) {
    let card = memory.object_bytes("cards/acme/providers/hosted/acme/widget");
    let card = String::from_utf8(card).unwrap();
    for number in 0..count {
        let package = format!("providers/hosted/{owner}/a{number:03}");
        let copy = card.replace("providers/hosted/acme/widget", &package);
        let copy = copy.replace("widget_thing", symbol);
        let card = Card::from_document(copy.as_bytes()).unwrap();
        let key = FactKey::Card(card.line.package.clone());
        let metadata = card.metadata();
        let put = Facts::put(memory, &key, &copy, &metadata, Condition::Any);
        put.now_or_never().unwrap().unwrap();
    }
}

#[test]
fn a_publish_reads_each_card_with_symbols_once_and_after_its_response() {
    let (memory, registry) = published();
    copy_card(&memory, "acme", CARDS_WITH_SYMBOLS + 5, "a_thing");
    let read = "R2 get cards/acme/providers/hosted/acme/a";
    memory.advance(CATALOG_SECONDS);
    memory.forget_operations();
    let at_response = memory.before("R2 put audit/", {
        let memory = memory.clone();
        move || assert_eq!(memory.count(read) + memory.count("KV put catalog/"), 0)
    });
    ProviderFixture::of("acme", "gadget", "1.0.0").publish(&registry);
    assert!(at_response.is_reached());
    // The owner has too many packages.
    let reads = memory.count(read);
    assert!((290..=CARDS_WITH_SYMBOLS).contains(&reads), "{reads}");
    for key in ["catalog/acme", "symbols/acme", "merged-catalog/1"] {
        assert_eq!(memory.count(&format!("KV put {key}")), 1, "{key}");
    }
    let operations = memory.operations().len();
    assert!(operations < 400, "{operations}");
    // A module has no symbols, so its publish does not write those of its owner again.
    memory.advance(CATALOG_SECONDS);
    memory.forget_operations();
    ModuleFixture::of("acme", "1.1.0").publish(&registry);
    assert_eq!(memory.count("KV put "), 10, "{:?}", memory.operations());
}

#[test]
fn an_owner_with_many_symbols_does_not_displace_those_of_others() {
    for symbol in ["a_thing".to_owned(), "x".repeat(CATALOG_SYMBOLS_BYTES / 4)] {
        let (memory, registry) = published();
        copy_card(&memory, "aaa", CARDS_WITH_SYMBOLS.min(6), &symbol);
        if symbol.len() < 10 {
            copy_card(&memory, "aaa", CARDS_WITH_SYMBOLS + 5, &symbol);
        }
        copy_card(&memory, "zzz", 1, "zzz_thing");
        reindex_with(&registry, json!({ "after": "merged-catalog" }));
        let text = memory.index("merged-catalog/1").text;
        let MergedPart { text, .. } = MergedPart::parse(&text).unwrap();
        for name in ["widget_thing", "zzz_thing", symbol.as_str()] {
            let named = |it: &CatalogSymbol| it.name == name;
            assert!(symbols(text.symbols).iter().any(named), "{}", name.len());
        }
    }
}

/// Symbols of any length would not fit into the memory of a Worker.
#[test]
fn symbols_up_to_a_limited_size_are_listed() {
    let (memory, registry) = published();
    copy_card(&memory, "acme", 6, &"x".repeat(CATALOG_SYMBOLS_BYTES / 4));
    reindex_with(&registry, json!({ "after": "cards/" }));
    let text = memory.index("symbols/acme").text;
    assert!(text.len() <= CATALOG_SYMBOLS_BYTES);
    let found = symbols(&text).into_iter();
    let packages: Vec<String> = found.map(|it| it.package.to_string()).collect();
    // A card that does not fit leaves room for smaller ones.
    let first = ["widget", "a000", "a001", "a002"];
    let first = first.map(|name| format!("providers/hosted/acme/{name}"));
    assert_eq!(packages, first);
    assert_eq!(catalog(&memory, "acme").len(), 8);
    memory.assert_logged("the symbols of 3 providers are left out");
}

/// A publish that is interrupted after its lists is completed by the next publish of its owner, or by a repair.
#[test]
fn a_publish_killed_before_its_catalogue_is_listed_by_the_next_publish_of_its_owner_or_a_repair() {
    let list = "R2 put changes/catalog/acme";
    for heals in ["publish", "repair"] {
        let (memory, registry) = in_memory();
        ProviderFixture::of("acme", "widget", "1.0.0").publish(&registry);
        let module = Released::module("1.0.0");
        let fault = memory.fail(list, 0, When::Before, Failure::Kill);
        assert_eq!(module.publish(&registry).now_or_never(), None);
        assert!(fault.lift());
        assert_eq!(catalog(&memory, "acme").len(), 1);
        match heals {
            "publish" => drop(ProviderFixture::of("acme", "widget", "1.1.0").publish(&registry)),
            _ => drop(reindex(&registry)),
        }
        assert_eq!(catalog(&memory, "acme").len(), 2, "{heals}");
    }
}

/// A failure of the catalogue never fails a publish, and a failed operation is repeated after the response.
#[test]
fn a_publish_succeeds_whatever_happens_to_the_catalogue() {
    // Their signatures contain the time.
    let [earlier, released] = ["1.0.0", "1.1.0"].map(Released::provider);
    let prepared = || {
        let (memory, registry) = in_memory();
        add_key(&registry, "acme", Signer::usual());
        earlier.store_archives(&memory);
        assert_eq!(earlier.publish(&registry).now_or_never(), Some(201));
        document_provider(&memory, "acme/widget", "1.1.0");
        released.store_archives(&memory);
        memory.advance(61);
        memory.forget_operations();
        (memory, registry)
    };
    let publish = |registry: &Registry| released.publish(registry).now_or_never();
    let (memory, registry) = prepared();
    assert_eq!(publish(&registry), Some(201));
    let whole = stored(&memory);
    let operations = memory.operations();
    let is_audit = |it: &String| it.starts_with("R2 put audit/");
    let answered = operations.iter().position(is_audit).unwrap();
    let later: BTreeSet<&String> = operations[answered..].iter().collect();
    let kinds: Vec<&String> = later.into_iter().filter(|it| is_of_catalog(it)).collect();
    assert!(kinds.len() > 10, "{kinds:?}");
    for operation in kinds {
        for (when, failure) in [
            (When::Before, Failure::Error),
            (When::After, Failure::Error),
            (When::Before, Failure::Busy),
        ] {
            let what = format!("{operation} {when:?} {failure:?}");
            // Once, so that the task after the response completes the publish.
            let (memory, registry) = prepared();
            let fault = memory.fail(operation.as_str(), 0, when, failure);
            let published = publish(&registry);
            assert!(fault.lift());
            // The card is read, and written, before the response.
            if published != Some(201) {
                assert!(operation.contains(" cards/"), "{what}");
                assert_eq!(publish(&registry), Some(200), "{what}");
            }
            registry.merge_catalog();
            assert_eq!(stored(&memory), whole, "{what}");
            if failure == Failure::Busy {
                continue;
            }
            // Always, so that only a retry, or the repair, completes it.
            let (memory, registry) = prepared();
            let fault = memory.fail(operation.as_str(), 0.., when, failure);
            let is_before = operations[..answered].contains(operation);
            let expected = if is_before { 503 } else { 201 };
            assert_eq!(publish(&registry), Some(expected), "{what}");
            assert!(fault.lift());
            match is_before {
                true => assert_eq!(publish(&registry), Some(200), "{what}"),
                false => drop(reindex_with(&registry, json!({ "full": true }))),
            }
            registry.merge_catalog();
            let (indices, cards) = stored(&memory);
            let indices = indices.into_iter().filter(|(key, _)| key != "revocations");
            assert_eq!((indices.collect(), cards), whole, "{what}");
        }
    }
}

/// Returns the time at which the next change is entered in the audit log, which is just before its response.
fn audited_at(memory: &Memory) -> Rc<Cell<u64>> {
    let at_ms = Rc::new(Cell::new(0));
    let (noted, clock) = (at_ms.clone(), memory.clone());
    memory.before("R2 put audit/", move || noted.set(clock.now_ms()));
    at_ms
}

/// Other publishers may write the catalogue of its owner all the time.
#[test]
fn a_publish_does_not_wait_for_the_catalogue() {
    let (memory, registry) = in_memory();
    memory.fail("KV put catalog/", 0..10, When::Before, Failure::Busy);
    let (began, audited) = (memory.now_ms(), audited_at(&memory));
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    assert_eq!(audited.get(), began);
    // The rest happened after the response.
    assert_eq!(catalog(&memory, "acme").len(), 1);
}

/// Returns an action that publishes a second package of the same owner.
fn another_publisher(memory: &Memory) -> impl FnOnce() + 'static {
    let other = Registry::in_memory(&memory.elsewhere(), &[]);
    move || drop(ProviderFixture::of("acme", "gadget", "1.0.0").publish(&other))
}

/// Another publisher writes its card and the whole catalogue between the listing and the write of this one.
#[test]
fn a_card_written_while_the_catalogue_of_its_owner_is_built_is_listed() {
    let (memory, registry) = in_memory();
    let list = "R2 list cards/acme/";
    let fault = memory.run(list, 0, When::After, another_publisher(&memory));
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    assert!(fault.is_reached());
    assert_eq!(catalog(&memory, "acme").len(), 2);
}

/// Returns an action that revokes the only provider with symbols.
fn revocation(memory: &Memory) -> impl FnOnce() + 'static {
    let other = Registry::in_memory(&memory.elsewhere(), &[]);
    move || {
        let path = status_of("providers/acme/widget/1.0.0");
        set_status(&other, &path, "revoked").expect(200);
    }
}

/// The request that revokes the provider waits, and another one writes the catalogue for both. That one knows of no
/// symbols.
#[test]
fn symbols_are_removed_although_another_request_writes_the_catalogue() {
    let (memory, _) = published();
    let busy = memory.fail("KV put catalog/acme", 0..2, When::Before, Failure::Busy);
    let look = "R2 head changes/catalog/acme";
    let publish = another_publisher(&memory);
    let fault = memory.run(look, 1, When::Before, publish);
    revocation(&memory)();
    assert!(fault.is_reached() && busy.is_reached());
    assert_eq!(catalog(&memory, "acme").len(), 3);
    assert!(!memory.indices().contains_key("symbols/acme"));
}

/// A request that listed the cards earlier writes the symbols after they were removed.
#[test]
fn symbols_that_an_older_catalogue_brings_back_are_removed() {
    for at in ["KV put catalog/acme", "KV put symbols/acme"] {
        let (memory, registry) = published();
        let fault = memory.before(at, revocation(&memory));
        ProviderFixture::of("acme", "gadget", "1.0.0").publish(&registry);
        assert!(fault.is_reached());
        assert!(!memory.indices().contains_key("symbols/acme"), "{at}");
        let acme = &catalog(&memory, "acme")["providers/hosted/acme/widget"];
        assert_eq!(acme.state.unwrap().to_string(), "revoked");
    }
}

/// Its publisher cannot rebuild the catalogue, because the lease is taken.
#[test]
fn a_card_written_while_the_merged_catalogue_is_built_is_merged_a_minute_later() {
    let (memory, registry) = in_memory();
    let write = "KV put merged-catalog/1";
    let fault = memory.run(write, 0, When::Before, another_publisher(&memory));
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    assert!(fault.is_reached());
    let packages = || merged_packages(&memory);
    assert_eq!(packages(), 1);
    registry.merge_catalog();
    assert_eq!(packages(), 2);
    // Nothing has changed since.
    memory.forget_operations();
    registry.merge_catalog();
    let operations = memory.operations();
    assert!(!operations.iter().any(|it| is_write(it)), "{operations:?}");
}

/// Returns the number of packages in the merged catalogue.
fn merged_packages(memory: &Memory) -> usize {
    let text = memory.index("merged-catalog/1").text;
    let part = MergedPart::parse(&text).unwrap();
    part.text.packages.lines().count()
}

/// A rebuild outlives its lease: another request has rebuilt the catalogue before the first one writes.
#[test]
fn an_older_catalogue_of_all_owners_that_is_written_last_is_rebuilt() {
    let (memory, registry) = in_memory();
    let (late, publish) = (memory.clone(), another_publisher(&memory));
    let write = "KV put merged-catalog/1";
    let fault = memory.run(write, 0, When::Before, move || {
        late.advance(61);
        publish();
        assert_eq!(merged_packages(&late), 2);
    });
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    assert!(fault.is_reached());
    assert_eq!(merged_packages(&memory), 1);
    registry.merge_catalog();
    assert_eq!(merged_packages(&memory), 2);
}

/// The same, but its second look at the marker is followed by the older write, so that only the record tells.
#[test]
fn a_catalogue_of_all_owners_that_is_replaced_before_its_record_is_rebuilt() {
    let (memory, registry) = published();
    let older = memory.index("merged-catalog/1");
    let late = memory.clone();
    let fault = memory.before("R2 put written/merged-catalog/1", move || {
        late.restore_index("merged-catalog/1", older);
        late.put_object("written/merged-catalog/1", b"an older change");
    });
    memory.advance(61);
    ModuleFixture::of("acme", "1.1.0").publish(&registry);
    assert!(fault.is_reached());
    registry.merge_catalog();
    let text = memory.index("merged-catalog/1").text;
    assert!(text.contains("\"1.1.0\""), "{text}");
}

/// The repair rebuilds the catalogue while another request that has the lease is about to write an older one, and perhaps
/// to be killed.
#[test]
fn a_catalogue_of_all_owners_that_replaces_a_repaired_one_is_rebuilt_when_the_lease_ends() {
    for kills in [false, true] {
        let (memory, registry) = in_memory();
        let (other, publish) = (memory.clone(), another_publisher(&memory));
        let write = "KV put merged-catalog/1";
        let fault = memory.run(write, 0, When::Before, move || {
            publish();
            let repairer = Registry::in_memory(&other.elsewhere(), &[]);
            let rewritten = reindex(&repairer).rewritten;
            assert!(rewritten.contains(&"merged-catalog/1".to_owned()));
            assert_eq!(merged_packages(&other), 2);
            if kills {
                let look = "R2 head changes/merged-catalog";
                other.fail(look, 0, When::Before, Failure::Kill);
            }
        });
        Released::module("1.0.0").publish(&registry).now_or_never();
        assert!(fault.is_reached());
        assert_eq!(merged_packages(&memory), 1);
        registry.merge_catalog();
        assert_eq!(merged_packages(&memory), 2, "{kills}");
    }
}

#[test]
fn a_repair_rebuilds_the_catalogue_of_all_owners_in_its_turn() {
    let (memory, registry) = published();
    memory.put_index("merged-catalog/1", "{}");
    memory.advance(61);
    let (late, at) = (memory.clone(), "KV put merged-catalog/1");
    let fault = memory.before(at, move || {
        let lease = String::from_utf8(late.object_bytes("leases/catalog")).unwrap();
        let until: u64 = lease.split(' ').next().unwrap().parse().unwrap();
        assert!(until > late.now_ms() / 1_000, "{until}");
    });
    reindex(&registry);
    assert!(fault.is_reached());
}

/// The number of concurrent publishers, each of a package of its own.
const CROWD: usize = 64;

#[test]
fn the_catalogue_is_complete_after_64_concurrent_publishers_of_one_owner() {
    for seed in 0..6 {
        let memory = Memory::with_rules(seed);
        let registry = Registry::in_memory(&memory, &[]);
        add_key(&registry, "acme", Signer::usual());
        let package = |number: usize| {
            let provider = format!("widget{number}");
            match number % 2 {
                0 => {
                    document_provider(&memory, &format!("acme/{provider}"), "1.0.0");
                    Released::Provider(ProviderFixture::of("acme", &provider, "1.0.0"))
                }
                _ => {
                    let mut module = ModuleFixture::of("acme", "1.0.0");
                    module.address = format!("acme/{provider}/aws");
                    Released::Module(module)
                }
            }
        };
        let all: Vec<Released> = (0..CROWD).map(package).collect();
        for released in &all {
            released.store_archives(&memory);
        }
        let mut schedule = Schedule::new(seed);
        schedule.step_ms = 1;
        let publisher = |(number, released): (usize, &'_ Released)| -> Actor<'_, u16> {
            let released = released.clone();
            let registry = Registry::in_memory(&memory.at(number % 4), &[]);
            Box::pin(async move { released.publish(&registry).await })
        };
        let actors = all.iter().enumerate().map(publisher).collect();
        let statuses = schedule.run(&memory, actors);
        assert_eq!(statuses, [201; CROWD]);
        assert_eq!(catalog(&memory, "acme").len(), CROWD, "{seed}");
        let of_acme = symbols(&memory.index("symbols/acme").text);
        assert_eq!(of_acme.len(), CROWD / 2, "{seed}");
        memory.advance(61);
        registry.merge_catalog();
        let merged = memory.index("merged-catalog/1").text;
        let MergedPart { text, .. } = MergedPart::parse(&merged).unwrap();
        assert_eq!(text.packages.lines().count(), CROWD, "{seed}");
        assert_eq!(symbols(text.symbols).len(), CROWD / 2, "{seed}");
    }
}

/// The operations that a rebuild of the merged catalogue begins with.
fn count_rebuilds(memory: &Memory) -> usize {
    memory.count("R2 list cards/")
}

/// Returns the number of packages that a list has.
fn listed(response: Response) -> usize {
    let json = response.expect(200).json();
    json["modules"].as_array().unwrap().len()
}

/// KV answers with what it has read, or has not found, for 30 seconds.
#[test]
fn a_package_is_listed_at_once_unless_its_reader_has_just_read_the_list() {
    let (memory, registry) = in_memory();
    memory.at_an_edge();
    let reader = || listed(registry.get("/v1/modules"));
    let publisher = || listed(registry.admin("GET", "/v1/modules", None));
    assert_eq!((reader(), publisher()), (0, 0));
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    assert_eq!((reader(), publisher()), (1, 1), "the first package");
    memory.advance(LIST_CACHE_SECONDS.into());
    assert_eq!(reader(), 1);
    ModuleFixture::of("other", "1.0.0").publish(&registry);
    assert_eq!((reader(), publisher()), (1, 2), "another one");
    memory.advance(LIST_CACHE_SECONDS.into());
    assert_eq!((reader(), publisher()), (2, 2));
    memory.advance(60);
    memory.forget_operations();
    publisher();
    assert_eq!(count_rebuilds(&memory), 0, "KV has it everywhere");
}

#[test]
fn five_publishes_in_a_row_are_merged_at_once_and_the_sixth_by_the_scheduled_event() {
    let memory = Memory::new();
    let registry = Registry::in_memory(&memory, &[("TERRACE_REPAIR_OPERATIONS", "0")]);
    let publish = |number: usize| {
        ModuleFixture::of(&format!("n{number}"), "1.0.0").publish(&registry);
        merged_packages(&memory)
    };
    for number in 1..=5 {
        assert_eq!(publish(number), number);
    }
    let began = memory.now_ms();
    assert_eq!(publish(6), 5);
    assert_eq!(memory.now_ms(), began + 20_000, "it looks again");
    // A search that finds it due, and cannot rebuild it, does not keep the next one from trying.
    registry.get("/v1/modules").expect(200);
    memory.advance(160);
    registry.get("/v1/modules").expect(200);
    assert_eq!(merged_packages(&memory), 6);
    publish(7);
    registry.run_repair_step_if_due();
    assert_eq!(merged_packages(&memory), 6);
    memory.advance(160);
    registry.run_repair_step_if_due();
    assert_eq!(merged_packages(&memory), 7);
}

/// Another request is rebuilding the catalogue, and has listed the cards already.
#[test]
fn a_publish_that_finds_the_catalogue_being_rebuilt_merges_its_package_a_moment_later() {
    let (memory, registry) = in_memory();
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    let now = memory.now_ms() / 1_000;
    memory.put_object("leases/catalog", format!("{} {now}", now + 3).as_bytes());
    ModuleFixture::of("other", "1.0.0").publish(&registry);
    assert_eq!(merged_packages(&memory), 2);
    assert_eq!(memory.now_ms() / 1_000, now + 3);
}

#[test]
fn a_lost_or_damaged_merged_catalogue_is_rebuilt_after_the_response_and_once() {
    for is_lost in [true, false] {
        let (memory, registry) = published();
        memory.advance(CATALOG_SECONDS);
        match is_lost {
            true => memory.lose_index("merged-catalog/1"),
            false => memory.put_index("merged-catalog/1", "damaged"),
        }
        memory.forget_operations();
        let response = registry.get("/api/v1/search?q=vpc").expect(503);
        let seconds = LIST_CACHE_SECONDS.to_string();
        assert_eq!(response.header("retry-after"), Some(seconds.as_str()));
        assert_eq!(count_rebuilds(&memory), 1, "{:?}", memory.operations());
        let found = registry.read("/api/v1/search?q=vpc");
        assert_eq!(found["results"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn the_first_search_of_a_registry_builds_its_catalogue() {
    let (memory, registry) = published();
    memory.advance(CATALOG_SECONDS);
    memory.lose_index("merged-catalog/1");
    assert_eq!(memory.keys_with("written/merged-catalog/1").len(), 1);
    memory.remove_object("written/merged-catalog/1");
    let found = registry.read("/api/v1/search?q=vpc");
    assert_eq!(found["results"].as_array().unwrap().len(), 2);
    memory.forget_operations();
    registry.get("/api/v1/search?q=vpc").expect(200);
    assert_eq!(count_rebuilds(&memory), 0);
}

#[test]
fn a_search_of_an_empty_registry_lists_its_cards_once() {
    let (memory, registry) = in_memory();
    for rebuilds in [1, 0, 0] {
        memory.forget_operations();
        let found = registry.read("/api/v1/search?q=vpc");
        assert_eq!(found, json!({ "results": [] }));
        assert_eq!(count_rebuilds(&memory), rebuilds);
    }
    ModuleFixture::of("acme", "1.0.0").publish(&registry);
    registry.merge_catalog();
    let found = registry.read("/api/v1/search?q=vpc");
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
}

#[test]
fn a_search_while_kv_cannot_be_read_is_503_without_a_rebuild() {
    let (memory, registry) = published();
    registry.get("/api/v1/search?q=vpc").expect(200);
    memory.forget_operations();
    let fault = memory.break_at(0, Break::Before);
    registry.get("/api/v1/search?q=vpc").expect(503);
    assert!(fault.lift());
    assert_eq!(count_rebuilds(&memory), 0);
}
