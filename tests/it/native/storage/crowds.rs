//! Many concurrent publishers and readers, over storage that keeps the platform's rules: a key takes one
//! write a second, and each location sees the indices late, in its own order, or not yet.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use terrace_app::host::Clock as _;
use terrace_core::index::about::About;
use terrace_core::index::card::{Card, ListedCard};
use terrace_core::index::catalog::{CatalogLine, MergedPart, catalog};
use terrace_core::index::overview::Overview;
use terrace_core::index::{self, ListedRelease};
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::model::status::StatusDocument;
use terrace_core::model::version::Version;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, IndexKey};
use terrace_core::storage::release::Release;

use crate::support::chain;
use crate::support::faults::is_of_catalog;
use crate::support::fixtures::{Signer, zip_of};
use crate::support::memory::ARRIVAL_MS;
use crate::support::memory::Memory;
use crate::support::registry::{S3, Sent, TOKEN};
use crate::support::reindexed::reindex;
use crate::support::released::Released;
use crate::support::schedule::{Actor, Schedule};
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry, Response, cases};

/// The number of concurrent publishers.
const CROWD: usize = 64;

/// The number of concurrent readers, and of their locations.
const READERS: usize = 12;
const LOCATIONS: usize = 4;

/// The number of attempts before a publisher gives up.
const TRIES: usize = 400;

/// The time that a location may cache a list, in seconds.
const LIST_SECONDS: u64 = 30;

/// Storage, and the actors and faults that act on it.
struct Crowd {
    memory: Memory,
    vars: &'static [(&'static str, &'static str)],
    schedule: Schedule,
    rng: RefCell<StdRng>,
    /// How many per thousand operations of publishers break.
    frailty: u32,
    /// The number of publishers that are not done yet.
    busy: Cell<usize>,
}

/// A list as a reader has read it.
struct ReadList {
    path: String,
    versions: Vec<String>,
    ended_ms: u64,
}

/// A version that a reader has requested, listed or not.
struct ReadVersion {
    path: String,
    version: String,
    status: u16,
    began_ms: u64,
}

#[derive(Default)]
struct Seen {
    lists: Vec<ReadList>,
    versions: Vec<ReadVersion>,
}

impl Crowd {
    fn new(seed: u64, vars: &'static [(&'static str, &'static str)]) -> Self {
        Self {
            memory: Memory::with_rules(seed),
            vars,
            schedule: Schedule::new(seed),
            rng: RefCell::new(StdRng::seed_from_u64(seed)),
            frailty: 0,
            busy: Cell::new(0),
        }
    }

    /// Returns the registry as reached at a location, in an isolate of its own.
    fn registry(&self, location: usize) -> Registry {
        Registry::in_memory(&self.memory.at(location), self.vars)
    }

    /// Publishes a version, and waits until it is visible everywhere.
    fn publish(&self, released: &Released) {
        let registry = self.registry(0);
        released.prepare(&registry);
        released.store_archives(&self.memory);
        let status = registry.send(&released.request(&registry)).status;
        assert!(matches!(status, 200 | 201), "{status}");
        self.settle();
    }

    /// Stores all archives, so that only the publishes remain.
    fn upload(&self, all: &[Released]) {
        for released in all {
            released.store_archives(&self.memory);
        }
    }

    /// Waits until all writes have arrived and all cached values have expired.
    fn settle(&self) {
        self.memory.advance_ms(ARRIVAL_MS + 1_000 * LIST_SECONDS);
    }

    fn random(&self, below: usize) -> usize {
        self.rng.borrow_mut().gen_range(0..below)
    }

    /// Returns the statuses of each publisher, one for each attempt, and then those of clients that set a status of a
    /// version; and the observations of concurrent readers.
    fn run(
        &mut self,
        all: &[Released],
        readers: usize,
        said: &[(usize, &str)],
    ) -> (Vec<Vec<u16>>, Seen) {
        self.busy.set(all.len());
        let mut schedule = std::mem::replace(&mut self.schedule, Schedule::new(0));
        let (this, seen) = (&*self, RefCell::default());
        let mut actors: Vec<Actor<'_, Option<Vec<u16>>>> = Vec::new();
        for (number, released) in all.iter().enumerate() {
            actors.push(Box::pin(async move {
                Some(this.publisher(released, number % LOCATIONS).await)
            }));
        }
        for (number, (place, state)) in said.iter().enumerate() {
            let released = &all[place % all.len()];
            let path = released.status_path(Some(released.version()));
            actors.push(Box::pin(async move {
                Some(this.status_setter(&path, state, number % LOCATIONS).await)
            }));
        }
        for number in 0..readers {
            let seen = &seen;
            actors.push(Box::pin(async move {
                this.reader(all, number % LOCATIONS, seen).await;
                None
            }));
        }
        let statuses = schedule.run(&this.memory, actors);
        self.schedule = schedule;
        (statuses.into_iter().flatten().collect(), seen.into_inner())
    }

    async fn publisher(&self, released: &Released, location: usize) -> Vec<u16> {
        let mut statuses = Vec::new();
        for _ in 0..TRIES {
            let memory = self.memory.at(location).frail(self.frailty);
            let registry = Registry::in_memory(&memory, self.vars);
            let published = memory.until_killed(released.publish(&registry)).await;
            // A client that has lost its connection sends the same request again, too.
            let status = published.unwrap_or(503);
            statuses.push(status);
            if status != 503 {
                break;
            }
        }
        self.busy.set(self.busy.get() - 1);
        statuses
    }

    /// Sets a status of a version, and retries after a 503, or a 404 before its publish. Returns the status
    /// of each attempt.
    async fn status_setter(&self, path: &str, state: &str, location: usize) -> Vec<u16> {
        let body = json!({ "state": state, "reason": "a test" }).to_string();
        let sent = Sent::new("PUT", path).bearing(TOKEN).body(body);
        let mut statuses = Vec::new();
        for _ in 0..TRIES {
            let memory = self.memory.at(location).frail(self.frailty);
            let registry = Registry::in_memory(&memory, self.vars);
            let answered = memory.until_killed(registry.answer(&sent)).await;
            let status = answered.map_or(503, |response| response.status);
            statuses.push(status);
            match status {
                503 => {}
                // The version is about to be published.
                404 => self.memory.sleep(1).await,
                _ => break,
            }
        }
        statuses
    }

    /// Reads until all versions are published: lists, a listed version, and a version that may exist.
    async fn reader(&self, all: &[Released], location: usize, seen: &RefCell<Seen>) {
        let registry = self.registry(location);
        let get = async |path: &str| registry.answer(&Sent::new("GET", path)).await;
        while self.busy.get() > 0 {
            let released = &all[self.random(all.len())];
            let path = released.lists()[self.random(released.lists().len())].clone();
            let list = get(&path).await;
            assert!(matches!(list.status, 200 | 404), "{path}: {}", list.text());
            let versions = match list.status {
                200 => listed(&list),
                _ => Vec::new(),
            };
            if !versions.is_empty() {
                let listed = &versions[self.random(versions.len())];
                let there = all.iter().find(|it| it.version() == listed);
                for path in there.iter().flat_map(|it| it.downloads()) {
                    let answer = get(&path).await;
                    assert_eq!(answer.status, 200, "{path} is listed: {}", answer.text());
                }
            }
            let ended_ms = self.memory.now_ms();
            seen.borrow_mut().lists.push(ReadList {
                path,
                versions,
                ended_ms,
            });
            let path = released.downloads()[self.random(released.downloads().len())].clone();
            let began_ms = self.memory.now_ms();
            let status = get(&path).await.status;
            assert!(matches!(status, 200 | 404), "{path}: {status}");
            let version = released.version().to_owned();
            seen.borrow_mut().versions.push(ReadVersion {
                path,
                version,
                status,
                began_ms,
            });
        }
    }

    /// Returns the versions of all releases in the order of their commits, with the time of each.
    fn commits(&self) -> Vec<(String, u64)> {
        let commits = self.memory.created("releases/").into_iter();
        let version = |key: &str| key.rsplit('/').next().unwrap().to_owned();
        commits.map(|(key, at_ms)| (version(&key), at_ms)).collect()
    }

    /// Asserts that every read was consistent: each list contains exactly the versions that existed at some
    /// time, in order, including those from the beginning; and a version that exists is found.
    fn assert_reads_consistent(&self, seen: &Seen, from_the_beginning: usize) {
        let commits = self.commits();
        for ReadList {
            path,
            versions,
            ended_ms,
        } in &seen.lists
        {
            let ordered = in_order(versions.clone());
            assert_eq!(ordered, *versions, "{path} is not in order");
            assert!(versions.len() >= from_the_beginning, "{path}: {versions:?}");
            let (known, _) = commits.split_at(versions.len());
            let known: BTreeSet<&str> = known.iter().map(|(version, _)| version.as_str()).collect();
            let listed: BTreeSet<&str> = versions.iter().map(String::as_str).collect();
            assert_eq!(listed, known, "{path} never had these versions");
            let newest = versions.len().checked_sub(1).map(|last| commits[last].1);
            let is_committed = newest <= Some(*ended_ms);
            assert!(is_committed, "{path} lists a version before its commit");
        }
        for ReadVersion {
            path,
            version,
            status,
            began_ms,
        } in &seen.versions
        {
            let commit = commits.iter().find(|(known, _)| known == version);
            let was_there = commit.is_some_and(|(_, at_ms)| at_ms < began_ms);
            assert!(*status == 200 || !was_there, "{path} was already committed");
        }
    }

    /// Asserts that KV matches the facts, that every location sees it, and that the audit log is valid.
    fn assert_matches_facts(&self, lists: &[String]) {
        self.assert_indexed();
        chain::entries(&self.memory);
        self.settle();
        for location in 0..LOCATIONS {
            let registry = self.registry(location);
            for path in lists {
                let versions = listed(&registry.get(path).expect(200));
                let known = self.commits().into_iter().map(|it| it.0).collect();
                assert_eq!(versions, in_order(known), "{path} at {location}");
            }
        }
    }

    /// Asserts that KV contains exactly the indices that follow from the facts.
    fn assert_indexed(&self) {
        let (made, may_be) = indices_of_facts(&self.memory);
        let assert_cards = || {
            let lines = made.iter().filter(|(key, _)| key.starts_with("catalog/"));
            let parts = lines.filter_map(|(_, document)| MergedPart::parse(&document.text));
            for line in parts.flat_map(|part| part.text.packages.lines()) {
                let line = CatalogLine::parse(line).unwrap();
                let key = FactKey::Card(line.package.clone()).to_string();
                let stored = Card::from_document(&self.memory.object_bytes(&key));
                assert_eq!(stored.map(|card| card.line), Some(line), "{key}");
            }
        };
        // A broken task after a response leaves the catalogues to the repair.
        let is_left = |key: &str| self.frailty > 0 && is_of_catalog(&format!("KV put {key}"));
        let assert_stored = |is_left: &dyn Fn(&str) -> bool| {
            let stored = self.memory.documents();
            for (key, document) in made.iter().filter(|(key, _)| !is_left(key)) {
                assert_eq!(stored.get(key), Some(document), "{key}");
            }
            for (key, document) in &stored {
                // The repair also writes the list of revoked tokens.
                let is_other = key.starts_with("merged-catalog/") || key == "revocations";
                let is_made = made.contains_key(key) || may_be(key) || is_other;
                assert!(is_made, "{key}: {document:?}");
            }
        };
        assert_stored(&is_left);
        if self.frailty > 0 {
            self.settle();
            reindex(&self.registry(0));
            assert_stored(&|_| false);
        }
        assert_cards();
        self.assert_merged();
    }

    /// Asserts that the catalogue of all owners becomes complete, a minute after the last change at the latest.
    fn assert_merged(&self) {
        self.registry(0).merge_catalog();
        let (made, _) = indices_of_facts(&self.memory);
        let merged = &self.memory.index("merged-catalog/1").text;
        let catalogs = made.iter().filter(|(key, _)| key.starts_with("catalog/"));
        let lines = catalogs.flat_map(|(_, document)| document.text.lines());
        for line in lines {
            assert!(merged.contains(line), "{line}: {merged}");
        }
    }
}

/// Returns the versions in a list of any protocol, in its order; tags, which are sorted as texts (6.3), by
/// version.
fn listed(list: &Response) -> Vec<String> {
    let json = list.json();
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    if let Some(tags) = json["tags"].as_array() {
        let tags: Vec<String> = tags.iter().map(text).collect();
        assert!(tags.is_sorted(), "{tags:?}");
        return in_order(tags);
    }
    if let Some(versions) = json["versions"].as_object() {
        // The order of serde's map differs from that of the text.
        let text = list.text();
        let mut versions: Vec<String> = versions.keys().cloned().collect();
        versions.sort_by_key(|version| text.find(&format!("\"{version}\"")));
        return versions;
    }
    let modules = json["modules"][0]["versions"].as_array();
    let versions = modules.or_else(|| json["versions"].as_array()).unwrap();
    versions.iter().map(|it| text(&it["version"])).collect()
}

fn in_order(mut versions: Vec<String>) -> Vec<String> {
    versions.sort_by_key(|version| version.parse::<Version>().unwrap());
    versions
}

/// Returns every index that follows from the facts, and whether another one may exist: that of a manifest
/// from before its version gained a platform.
fn indices_of_facts(memory: &Memory) -> (BTreeMap<String, IndexDocument>, impl Fn(&str) -> bool) {
    let objects = memory.objects();
    let releases = objects
        .iter()
        .filter(|(key, _)| key.starts_with("releases/"));
    let releases: Vec<Release> = releases
        .map(|(_, bytes)| Release::from_document(bytes).unwrap())
        .collect();
    let statuses = |package: &Package| -> StatusDocument {
        let document = objects.get(&FactKey::Status(package.clone()).to_string());
        let read = document.map(|bytes| serde_json::from_slice(bytes).unwrap());
        read.unwrap_or_default()
    };
    let mut lists: Vec<(Package, Vec<ListedRelease>)> = Vec::new();
    let mut indices = Vec::new();
    let mut growing = Vec::new();
    for release in &releases {
        let (package, listed) = (release.package(), ListedRelease::of(release));
        let others = releases.iter().filter(|it| it.package() == package);
        let others = others.filter(|it| it.version() != release.version());
        let others: Vec<Release> = others.cloned().collect();
        indices.extend(index::of_version(release, &others, &statuses(&package)));
        indices.push(About::of(release, None).index(release));
        if release.may_grow() {
            growing.push(format!("{package}/sha256/"));
        }
        match lists.iter_mut().find(|(known, _)| *known == package) {
            Some((_, all)) => all.push(listed),
            None => lists.push((package, vec![listed])),
        }
    }
    let mut cards: BTreeMap<String, (Owner, Vec<ListedCard>)> = BTreeMap::new();
    for (package, releases) in lists {
        let statuses = statuses(&package);
        let overview = Overview::of(&releases, &statuses, &BTreeSet::new());
        indices.push(overview.index(&package));
        indices.extend(index::lists(&package, releases, &statuses));
        let card = Card::of(&package, &overview, None).unwrap();
        let owner = Owner::of(&package);
        let (_, listed) = cards
            .entry(owner.to_string())
            .or_insert((owner, Vec::new()));
        listed.push(card.listed());
    }
    for (owner, listed) in cards.into_values() {
        indices.push((IndexKey::Catalog(owner), catalog(&listed)));
    }
    let indices = indices.into_iter().map(|(key, it)| (key.to_string(), it));
    let may_be = move |key: &str| growing.iter().any(|start| key.starts_with(start));
    (indices.collect(), may_be)
}

/// Returns versions in an order that differs from that of their texts.
fn versions(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| match number % 4 {
        0 => format!("1.{number}.0"),
        1 => format!("1.{number}.0-rc.{number}"),
        2 => format!("2.0.{number}"),
        _ => format!("10.{number}.1"),
    })
}

fn answered(statuses: &[Vec<u16>]) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for status in statuses.iter().flatten() {
        *counts.entry(*status).or_default() += 1;
    }
    counts
}

/// Runs the crowd in both download modes, after a first version that is visible everywhere.
fn publish_at_once(first: &Released, all: &[Released], expected: &[(u16, usize)]) {
    for (seed, vars) in [(1, [].as_slice()), (2, S3.as_slice())] {
        let mut crowd = Crowd::new(seed, vars);
        crowd.publish(first);
        crowd.upload(all);
        // An operation takes some 60 ms on average.
        crowd.schedule.step_ms = 1;
        let (statuses, seen) = crowd.run(all, READERS, &[]);
        let expected: BTreeMap<u16, usize> = expected.iter().copied().collect();
        assert_eq!(answered(&statuses), expected);
        crowd.assert_reads_consistent(&seen, 1);
        crowd.assert_matches_facts(&first.lists());
    }
}

#[test]
fn sixty_four_concurrent_versions_are_all_published_and_listed_in_order() {
    let all: Vec<Released> = versions(CROWD).map(|it| Released::provider(&it)).collect();
    publish_at_once(&Released::provider("0.1.0"), &all, &[(201, CROWD)]);
    let all: Vec<Released> = versions(CROWD).map(|it| Released::module(&it)).collect();
    publish_at_once(&Released::module("0.1.0"), &all, &[(201, CROWD)]);
    let all: Vec<Released> = versions(CROWD).map(|it| Released::mirrored(&it)).collect();
    publish_at_once(&Released::mirrored("0.1.0"), &all, &[(201, CROWD)]);
}

#[test]
fn one_of_64_publishers_of_the_same_bytes_creates_the_version_and_the_others_see_it_unchanged() {
    let kinds: [fn(&str) -> Released; 3] =
        [Released::provider, Released::module, Released::mirrored];
    for kind in kinds {
        let all = vec![kind("1.0.0"); CROWD];
        publish_at_once(&kind("0.1.0"), &all, &[(201, 1), (200, CROWD - 1)]);
    }
}

#[test]
fn one_of_64_publishers_of_other_bytes_as_one_version_wins() {
    let zip = |number: usize, name: &str| {
        zip_of(&[(name, format!("# of publisher {number}\n").as_bytes())])
    };
    let provider = |number| {
        let mut fixture = ProviderFixture::of("acme", "widget", "1.0.0");
        fixture.with_zip(zip(number, "terraform-provider-widget_v1.0.0"));
        Released::Provider(fixture)
    };
    let all: Vec<Released> = (0..CROWD).map(provider).collect();
    publish_at_once(
        &Released::provider("0.1.0"),
        &all,
        &[(201, 1), (409, CROWD - 1)],
    );
    let module = |number| {
        Released::Module(ModuleFixture::of("acme", "1.0.0").with_zip(zip(number, "main.tf")))
    };
    let all: Vec<Released> = (0..CROWD).map(module).collect();
    publish_at_once(
        &Released::module("0.1.0"),
        &all,
        &[(201, 1), (409, CROWD - 1)],
    );
}

/// A publisher of one version of a package, which exists in two forms.
#[derive(Debug, Clone, Copy)]
struct Part {
    version: &'static str,
    is_other: bool,
}

fn part() -> impl Strategy<Value = Part> {
    let version = select(vec![
        "1.0.0",
        "1.2.0",
        "1.10.0",
        "2.0.0-rc.1",
        "2.0.0",
        "2.0.1",
        "3.0.0",
        "10.0.0",
    ]);
    (version, any::<bool>()).prop_map(|(version, is_other)| Part { version, is_other })
}

impl Part {
    const FIRST: Self = Self {
        version: "0.1.0",
        is_other: false,
    };

    /// Returns the release; the other form has other bytes or, for a mirrored version, another platform.
    fn released(self, kind: usize) -> Released {
        let Self { version, is_other } = self;
        let mut provider = ProviderFixture::of("acme", "widget", version);
        match kind {
            0 if is_other => {
                let executable = format!("terraform-provider-widget_v{version}");
                for (_, _, arch, zip) in &mut provider.packages {
                    let content = format!("other for {arch}");
                    *zip = zip_of(&[(&executable, content.as_bytes())]);
                }
                provider.sign(Signer::usual());
                Released::Provider(provider)
            }
            0 => Released::Provider(provider),
            1 if is_other => {
                let zip = zip_of(&[("main.tf", format!("# other {version}\n").as_bytes())]);
                Released::Module(ModuleFixture::of("acme", version).with_zip(zip))
            }
            1 => Released::module(version),
            _ if is_other => Released::Mirrored(MirrorFixture::of(provider).only("arm64")),
            _ => Released::Mirrored(MirrorFixture::of(provider).only("amd64")),
        }
    }
}

/// Draws the order in which the requests of publishers and readers proceed, the duration of each, the place
/// where its writes are first visible, and the faults.
#[test]
fn indices_follow_the_facts_in_every_order_of_operations() {
    let strategy = (
        any::<u64>(),
        0..3_usize,
        prop::collection::vec(part(), 2..10),
        0..4_usize,
        select(vec![0, 0, 20, 60]),
        any::<bool>(),
    );
    let test = |(seed, kind, parts, readers, frailty, is_presigned)| {
        let vars: &'static [_] = if is_presigned { &S3 } else { &[] };
        let mut crowd = Crowd::new(seed, vars);
        crowd.frailty = frailty;
        crowd.schedule.step_ms = seed % 8 + 1;
        let parts: Vec<Part> = parts;
        let all: Vec<Released> = parts.iter().map(|part| part.released(kind)).collect();
        let first = Part::FIRST.released(kind);
        crowd.publish(&first);
        let (statuses, seen) = crowd.run(&all, readers, &[]);
        for (part, statuses) in parts.iter().zip(&statuses) {
            let last = *statuses.last().unwrap();
            assert!(matches!(last, 200 | 201 | 409), "{part:?}: {statuses:?}");
        }
        crowd.assert_reads_consistent(&seen, 1);
        crowd.assert_matches_facts(&first.lists());
        Ok(())
    };
    run_cases(cases(60, 300), &strategy, test);
}

/// Runs `test` with `cases` values of `strategy`, and shrinks those that fail.
fn run_cases<S: Strategy>(
    cases: u32,
    strategy: &S,
    test: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config).run(strategy, test).unwrap();
}

/// Concurrently, clients set statuses of the versions, several of them for the same version.
#[test]
fn indices_follow_the_facts_while_statuses_are_set() {
    let states = select(vec!["deprecated", "withdrawn", "revoked", "active"]);
    let strategy = (
        any::<u64>(),
        0..3_usize,
        prop::collection::vec(part(), 1..6),
        prop::collection::vec((any::<usize>(), states), 1..6),
        select(vec![0, 0, 20, 60]),
    );
    let test = |(seed, kind, parts, said, frailty)| {
        let (parts, said): (Vec<Part>, Vec<(usize, &str)>) = (parts, said);
        publish_while_statuses_are_set(seed, kind, &parts, &said, frailty);
        Ok(())
    };
    run_cases(cases(30, 150), &strategy, test);
}

/// In this order, a failed request withdraws an index after another one has written it, and before that one has recorded this.
#[test]
fn an_index_that_another_request_has_withdrawn_is_written_again() {
    let part = |version, is_other| Part { version, is_other };
    let parts = [
        part("1.0.0", false),
        part("2.0.0-rc.1", true),
        part("3.0.0", false),
        part("2.0.0-rc.1", false),
        part("1.2.0", false),
    ];
    let said = [
        (12_270_536_736_429_421_322, "deprecated"),
        (2_926_502_581_371_241_177, "deprecated"),
    ];
    publish_while_statuses_are_set(16_416_233_567_591_301_967, 0, &parts, &said, 20);
}

fn publish_while_statuses_are_set(
    seed: u64,
    kind: usize,
    parts: &[Part],
    said: &[(usize, &str)],
    frailty: u32,
) {
    let mut crowd = Crowd::new(seed, &[]);
    crowd.frailty = frailty;
    crowd.schedule.step_ms = seed % 8 + 1;
    let mut all: Vec<Released> = parts.iter().map(|part| part.released(kind)).collect();
    let first = Part::FIRST.released(kind);
    crowd.publish(&first);
    all.push(first);
    let (statuses, _) = crowd.run(&all, 0, said);
    for statuses in &statuses {
        let last = *statuses.last().unwrap();
        assert!(matches!(last, 200 | 201 | 409), "{statuses:?}");
    }
    crowd.assert_indexed();
    let entries = chain::entries(&crowd.memory).len();
    let made = statuses.iter().flatten().filter(|status| **status < 300);
    let made = made.count();
    assert!(entries >= made, "{made} changes, {entries} entries");
}
