//! Compares the lists of each package. The versions of a package are visited only if its lists are evidence of a
//! difference.
//!
//! # Why the lists are evidence
//! Every change of a package writes the lists last. So if a change broke off, the lists differ, until another
//! change of the same package writes them. The repair keeps to that order: it writes the lists of a package
//! after the indices of its versions. A revocation must not depend on that, so the index of each revoked
//! version is compared with the lists.

use std::cell::Cell;
use std::iter::Peekable;

use terrace_core::index::card::CardChange;
use terrace_core::limits;
use terrace_core::maintenance::repair::Position;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::{FactKey, IndexKey, RELEASES};

use crate::documents::releases;
use crate::failure::Failure;
use crate::host::{Host, ListedFact};
use crate::index::expected_indices::PackageIndices;
use crate::index::{expected_indices, index_refresh};
use crate::repair::comparison::Compared;
use crate::repair::step::{MIN_OPERATIONS, MIN_OPERATIONS_FOR_LISTS, RepairStep, StepFlow};

/// The smallest and the largest page of a listing of packages; the largest is R2's own
/// (<https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#r2listoptions>).
const NAMES_PER_LISTING: (u32, u32) = (50, 1_000);

/// How many keys a bulk read must have room for to compare another package: its lists, and a revoked version.
const KEYS_OF_A_PACKAGE: usize = 6;

/// How many bytes of expected lists are compared at once. A bulk read of KV returns 25 MB at most
/// (<https://developers.cloudflare.com/kv/api/read-key-value-pairs/#multiple-key-requests-with-get>).
const COMPARED_BYTES: usize = 8 * 1024 * 1024;

/// The page size of a listing of one package. The next step lists the rest of a page again.
const VERSIONS_PER_LISTING: u32 = 200;

/// How many listed names count as much as comparing the indices of one version: it takes a millisecond of CPU,
/// because every manifest is made and hashed.
const NAMES_OF_A_VERSION: usize = 50;

/// A package of a listing, with its releases.
struct ListedPackage {
    package: Package,
    /// Its versions, each with the object of its release.
    releases: Vec<(Version, ListedFact)>,
}

/// A package with its expected indices; without them if they could not be determined.
struct Candidate {
    package: Package,
    expected: Option<PackageIndices>,
}

impl<P: Host> RepairStep<'_, '_, P> {
    /// Checks packages, one after the other.
    pub(super) async fn repair_packages(&mut self) -> Result<StepFlow, Failure> {
        let inside = self.position.package().map(|(package, _)| package);
        if let Some(only) = self
            .only
            .as_ref()
            .filter(|only| inside.as_ref() != Some(only))
        {
            self.position = Position::inside(only);
        }
        loop {
            if let Some((package, _)) = self.position.package() {
                if self.repair_package(&package).await? == StepFlow::Pause {
                    return Ok(StepFlow::Pause);
                }
                self.position = Position::past(&package);
                if self.only.is_some() {
                    return Ok(StepFlow::Continue);
                }
            }
            if !self.affords(MIN_OPERATIONS) {
                return Ok(StepFlow::Pause);
            }
            if self.is_full {
                match self.next_package().await? {
                    Some(package) => self.position = Position::inside(&package),
                    None => return Ok(StepFlow::Continue),
                }
                continue;
            }
            let (packages, is_last) = self.list_packages().await?;
            let count = packages.len();
            let checked = self.check_packages(packages).await;
            if self.position.package().is_none() && checked == count && is_last {
                return Ok(StepFlow::Continue);
            }
        }
    }

    /// Returns the position after the package that comes next, or that the position is inside of.
    pub(super) async fn past_package(self) -> Result<Position, Failure> {
        let package = match self.position.package() {
            Some((package, _)) => Some(package),
            None => self.next_package().await?,
        };
        Ok(package.map_or(self.position, |package| Position::past(&package)))
    }

    /// Returns the next package of a full walk.
    async fn next_package(&self) -> Result<Option<Package>, Failure> {
        let mut packages = Vec::new();
        let mut after = self.position.after.clone();
        while packages.is_empty() {
            let (facts, _) = self.list(RELEASES, &after, 1).await?;
            let Some(fact) = facts.into_iter().next() else {
                return Ok(None);
            };
            after.clone_from(&fact.name);
            self.add_release(&mut packages, fact);
        }
        Ok(packages.pop().map(|listed| listed.package))
    }

    /// Lists the next packages, each with all its releases: at least one, unless there is none. Returns whether
    /// they are the last ones.
    async fn list_packages(&mut self) -> Result<(Vec<ListedPackage>, bool), Failure> {
        let (smallest, largest) = NAMES_PER_LISTING;
        let mut packages = Vec::new();
        let mut after = self.position.after.clone();
        loop {
            let limit = self.names_left.clamp(smallest, largest);
            let (facts, is_last) = self.list(RELEASES, &after, limit).await?;
            self.spend_names(facts.len());
            let Some(last) = facts.last() else {
                return Ok((packages, true));
            };
            after.clone_from(&last.name);
            for fact in facts {
                self.add_release(&mut packages, fact);
            }
            if is_last {
                return Ok((packages, true));
            }
            // The last package may have more releases. It is listed again, unless it is the only one.
            if packages.len() > 1 {
                packages.pop();
                return Ok((packages, false));
            }
        }
    }

    fn add_release(&self, packages: &mut Vec<ListedPackage>, fact: ListedFact) {
        let key = format!("{RELEASES}{}", fact.name);
        let Some(FactKey::Release(package, version)) = FactKey::parse(&key) else {
            return self.skip(&key);
        };
        let release = (version, fact);
        match packages.last_mut() {
            Some(last) if last.package == package => last.releases.push(release),
            _ => packages.push(ListedPackage {
                package,
                releases: vec![release],
            }),
        }
    }

    /// Checks packages until one needs a repair, or the budget is used up. The position is then after the last one
    /// that was checked, or inside of the package to repair. Returns how many were checked.
    async fn check_packages(&mut self, packages: Vec<ListedPackage>) -> usize {
        let mut packages = packages.into_iter().peekable();
        let mut checked = 0;
        while packages.peek().is_some() {
            let candidates = self.candidates(&mut packages).await;
            let are_same = self.are_same(&candidates).await;
            for (Candidate { package, expected }, is_same) in candidates.into_iter().zip(are_same) {
                checked += 1;
                // A list that differs is evidence that the indices of versions may differ, too.
                let Some(expected) = expected.filter(|_| is_same) else {
                    self.position = Position::inside(&package);
                    return checked;
                };
                let repaired = self.repair_card(&package, &expected.overview).await;
                self.note(IndexKey::Tags(package.clone()).to_string(), repaired);
                self.position = Position::past(&package);
            }
            if !self.affords(MIN_OPERATIONS) {
                return checked;
            }
        }
        checked
    }

    /// Determines the expected indices of as many packages as one bulk read compares.
    async fn candidates(
        &mut self,
        packages: &mut Peekable<impl Iterator<Item = ListedPackage>>,
    ) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        let (mut keys, mut bytes) = (0, 0);
        while let Some(listed) = packages.next_if(|_| {
            let has_room =
                keys + KEYS_OF_A_PACKAGE <= limits::INDICES_AT_ONCE && bytes < COMPARED_BYTES;
            candidates.is_empty() || (has_room && self.affords(MIN_OPERATIONS))
        }) {
            let expected = match self.expected(&listed).await {
                Ok(expected) => Some(expected),
                // Each version is checked instead, and then the lists again.
                Err(failure) => {
                    self.ctx.report(failure);
                    None
                }
            };
            if let Some(expected) = &expected {
                keys += expected.lists.len() + expected.revoked.len();
                let lists = expected.lists.iter();
                bytes += lists.map(|(_, it)| it.text.len()).sum::<usize>();
            }
            let is_unknown = expected.is_none();
            let package = listed.package;
            candidates.push(Candidate { package, expected });
            if is_unknown {
                break;
            }
        }
        candidates
    }

    /// Returns the expected indices of a package, as far as they are stored.
    async fn expected(&self, listed: &ListedPackage) -> Result<PackageIndices, Failure> {
        let ListedPackage { package, releases } = listed;
        let mut all = Vec::new();
        for (version, fact) in releases {
            all.extend(releases::listed(self.ctx, package, version.clone(), fact).await?);
        }
        let mut expected = expected_indices::package_indices(self.ctx, package, all).await?;
        expected.lists.retain(|(_, list)| is_stored(list));
        Ok(expected)
    }

    /// Compares the indices of packages as far as they are expected, and returns whether each has all of them.
    async fn are_same(&mut self, candidates: &[Candidate]) -> Vec<bool> {
        let expected = candidates.iter().filter_map(|it| it.expected.as_ref());
        let expected = expected.flat_map(|it| it.lists.iter().chain(&it.revoked));
        let expected: Vec<&(IndexKey, IndexDocument)> = expected.collect();
        let mut compared = self.compare(&expected, &|_| false).await.into_iter();
        let of_candidate = |it: &Candidate| {
            let count = it.expected.as_ref();
            let count = count.map_or(0, |it| it.lists.len() + it.revoked.len());
            let compared: Vec<Compared> = compared.by_ref().take(count).collect();
            compared.iter().all(|it| *it == Compared::Same)
        };
        candidates.iter().map(of_candidate).collect()
    }

    /// Checks the versions of the package that the position is inside of, and then its lists.
    async fn repair_package(&mut self, package: &Package) -> Result<StepFlow, Failure> {
        let prefix = FactKey::releases_of(package);
        loop {
            let after = self.position.package();
            let after = after.map_or_else(String::new, |(_, version)| version.to_owned());
            let (facts, is_last) = self.list(&prefix, &after, VERSIONS_PER_LISTING).await?;
            if facts.is_empty() && after.is_empty() {
                return Ok(StepFlow::Continue);
            }
            for fact in facts {
                if !self.affords(MIN_OPERATIONS) {
                    return Ok(StepFlow::Pause);
                }
                self.check_version(package, fact.name).await;
            }
            if is_last {
                break;
            }
        }
        if self.position.is_incomplete {
            // The lists stay different, so that the next walk visits the versions again.
            return Ok(StepFlow::Continue);
        }
        if !self.affords(MIN_OPERATIONS_FOR_LISTS) {
            return Ok(StepFlow::Pause);
        }
        let repaired = self.repair_lists(package).await;
        self.note(IndexKey::Tags(package.clone()).to_string(), repaired);
        Ok(StepFlow::Continue)
    }

    async fn check_version(&mut self, package: &Package, name: String) {
        let after = format!("{package}/{name}");
        let key = format!("{RELEASES}{after}");
        match FactKey::parse(&key) {
            Some(FactKey::Release(of, version)) if of == *package => {
                let repaired = self.repair_version(package, &version).await;
                // A document that cannot be read fails again; anything else may succeed in the next walk.
                let may_succeed =
                    matches!(&repaired, Err(failure) if !matches!(failure, Failure::Corrupt(_)));
                self.position.is_incomplete |= may_succeed;
                self.note(key, repaired);
            }
            _ => self.skip(&key),
        }
        self.position.after = after;
    }

    /// Checks a package's lists, all together.
    pub(super) async fn repair_lists(&mut self, package: &Package) -> Result<bool, Failure> {
        let mut expected = expected_indices::package_lists(self.ctx, package).await?;
        expected.lists.retain(|(_, list)| is_stored(list));
        if self.all_same(&expected.lists).await {
            return self.repair_card(package, &expected.overview).await;
        }
        self.count_writes(expected.lists.len());
        let change = Cell::new(CardChange::Unchanged);
        let written = index_refresh::refresh_lists(self.ctx, package, &change).await;
        self.after_card(package, change.get());
        written.map(|()| true)
    }

    async fn repair_version(
        &mut self,
        package: &Package,
        version: &Version,
    ) -> Result<bool, Failure> {
        self.spend_names(NAMES_OF_A_VERSION);
        let Some(release) = releases::find(self.ctx, package, version).await? else {
            return Ok(false);
        };
        // Read once in a step. A concurrent change of the status refreshes the indices itself, and a repair that
        // writes them reads the status again.
        let known = self.package_status.take();
        let status = match known.filter(|(of, _)| of == package) {
            Some((_, status)) => status,
            None => {
                let mut status = expected_indices::package_status(self.ctx, package).await?;
                status.list_documented(self.ctx, package).await?;
                status
            }
        };
        let expected = expected_indices::version_indices_with(self.ctx, &status, &release).await;
        let revoked = status.revoked_versions();
        self.package_status = Some((package.clone(), status));
        let expected = expected?;
        let is_installable = |version: &Version| !revoked.contains(version);
        if self.all_same_shared(&expected, &is_installable).await {
            return Ok(false);
        }
        self.count_writes(expected.len());
        index_refresh::refresh_version(self.ctx, &release).await?;
        Ok(true)
    }
}

/// Returns whether a list is stored. One that only states that there is nothing is created for the reader.
fn is_stored(list: &IndexDocument) -> bool {
    !list.metadata.pull.as_ref().is_some_and(|it| it.is_empty)
}
