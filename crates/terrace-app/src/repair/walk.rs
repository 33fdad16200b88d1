//! A walk over the packages and the other facts that compares indices with their facts, and over the indices that
//! looks for the fact of each. It runs in steps that fit the limit of storage operations.

use terrace_core::maintenance::repair::{Position, Section};
use terrace_core::storage::key::{FactKey, IndexKey};

use crate::access::rules;
use crate::failure::Failure;
use crate::host::Host;
use crate::repair::step::{MIN_OPERATIONS, RepairStep, StepFlow};

/// The smallest and the largest page of a listing. The next step lists the rest of a page again.
const FACTS_PER_LISTING: (u32, u32) = (20, 200);

impl<P: Host> RepairStep<'_, '_, P> {
    /// Continues until everything has been examined, or the budget is used up.
    pub(crate) async fn walk(&mut self) -> Result<(), Failure> {
        rules::read_facts(self.ctx).await?;
        loop {
            let going = match self.position.section {
                Section::Revocations => self.repair_list(IndexKey::Revocations).await,
                Section::Rules => self.repair_list(IndexKey::Rules).await,
                Section::Catalogs => self.repair_catalogs().await?,
                Section::MergedCatalog => self.repair_merged().await,
                Section::StagedUploads => self.sweep_uploads().await?,
                Section::Indices => self.repair_indices().await?,
                Section::Releases => self.repair_packages().await?,
                Section::Origins
                | Section::Manifests
                | Section::Tags
                | Section::Links
                | Section::ErasedArchives
                | Section::Documentation => self.repair_facts().await?,
            };
            if going == StepFlow::Pause {
                self.report.next = Some(self.position.to_string());
                return Ok(());
            }
            let next = self.position.section.next();
            // A package has only its releases and its indices.
            let next = match self.only {
                Some(_) => next.map(|_| Section::Indices),
                None => next,
            };
            match next.filter(|next| !(self.only_facts && *next == Section::Indices)) {
                Some(next) => self.position = Position::start(next),
                None => return Ok(()),
            }
        }
    }

    /// Checks the facts of a section, one after the other.
    async fn repair_facts(&mut self) -> Result<StepFlow, Failure> {
        let section = self.position.section;
        loop {
            let (smallest, largest) = FACTS_PER_LISTING;
            let limit = self.names_left.clamp(smallest, largest);
            let after = self.position.after.as_str();
            let (facts, is_last) = self.list(section.prefix(), after, limit).await?;
            self.spend_names(facts.len());
            for fact in facts {
                let key = format!("{}{}", section.prefix(), fact.name);
                let going = match FactKey::parse(&key) {
                    Some(FactKey::Documentation(package, version)) => {
                        self.sweep_documentation(&fact, package, version).await?
                    }
                    Some(known) => self.repair_fact(known, &fact.name).await,
                    None => {
                        self.skip(&key);
                        StepFlow::Continue
                    }
                };
                if going == StepFlow::Pause {
                    return Ok(StepFlow::Pause);
                }
                self.position = Position::after(section, fact.name);
            }
            if is_last {
                return Ok(StepFlow::Continue);
            }
            if !self.would_afford(MIN_OPERATIONS) {
                return Ok(StepFlow::Pause);
            }
        }
    }

    /// Returns the position after the next item, or in the next section.
    pub(crate) async fn past_item(self) -> Result<Position, Failure> {
        let section = self.position.section;
        match section {
            Section::Releases => return self.past_package().await,
            Section::Indices => return self.past_keys().await,
            Section::Revocations | Section::Rules | Section::MergedCatalog => {}
            _ => {
                let after = self.position.after.as_str();
                let (facts, _) = self.list(section.prefix(), after, 1).await?;
                if let Some(fact) = facts.into_iter().next() {
                    // An item of the catalogues is an owner.
                    let package = FactKey::card_in(&fact.name);
                    return Ok(match package.filter(|_| section == Section::Catalogs) {
                        Some(package) => Position::past_owner_of(&package),
                        None => Position::after(section, fact.name),
                    });
                }
            }
        }
        let next = section.next().filter(|next| *next != Section::Indices);
        Ok(Position::start(next.unwrap_or(Section::Releases)))
    }
}
