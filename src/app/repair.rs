//! Repair: a walk over the facts that compares each index with what the facts say, and a walk over the
//! indices that looks for the fact of each. Both in steps that storage has time for.

mod facts;
mod incoming;
mod indices;

use terrace_base::time::UnixTime;
use terrace_core::api::admin::{ReindexAnswer, ReindexBody};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::limits;
use terrace_core::maintenance::repair::{CursorDocument, Position, Section};
use terrace_core::model::package::Package;
use terrace_core::storage::key::FactKey;

use self::indices::Made;
use super::read::Said;
use super::tokens::{json, parse};
use super::{App, Failure};
use crate::store::{Clock as _, Condition, Facts as _, Platform};

/// How many operations are left at least when something is begun that is not the first of a step. What
/// comes first is done whatever it takes, so that every step gets on.
const AT_LEAST: u32 = 4;

/// The same for a package's lists, which may take several pages and several writes.
const AT_LEAST_FOR_LISTS: u32 = 20;

/// One step of a walk.
#[derive(Debug)]
pub(super) struct Step {
    /// The only package to look at, if it is one.
    only: Option<Package>,
    /// Releases whose loss the operator accepts.
    accepted: Vec<FactKey>,
    /// How far it is.
    position: Position,
    /// How many storage operations it may still take.
    left: u32,
    /// Whether it has done nothing yet.
    is_fresh: bool,
    /// What is said of the last package whose versions were looked at.
    said: Option<(Package, Said)>,
    /// What the last package makes whose indices were looked at.
    made: Option<Made>,
    report: ReindexAnswer,
}

/// Whether a step goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Going {
    /// With what comes next.
    On,
    /// Not any more: it has no operations left.
    Pausing,
}

impl Step {
    fn new(only: Option<Package>, position: Position, operations: u32) -> Self {
        Self {
            only,
            accepted: Vec::new(),
            position,
            left: operations,
            is_fresh: true,
            said: None,
            made: None,
            report: ReindexAnswer::default(),
        }
    }

    fn spend(&mut self, operations: usize) {
        let operations = u32::try_from(operations).unwrap_or(u32::MAX);
        self.left = self.left.saturating_sub(operations);
    }

    /// Whether something may be begun that takes so many operations.
    fn affords(&mut self, operations: u32) -> bool {
        let is_fresh = std::mem::take(&mut self.is_fresh);
        is_fresh || self.left >= operations
    }

    fn names(&self) -> usize {
        let report = &self.report;
        report.rewritten.len() + report.removed.len() + report.failed.len() + report.lost.len()
    }
}

impl<P: Platform> App<'_, P> {
    /// One step of the periodic repair, which goes on where the last has ended. A second one at the same
    /// time does nothing.
    pub async fn reconcile(&self) {
        if self.config.repair_operations == 0 {
            return;
        }
        if let Err(failure) = self.try_reconcile().await {
            self.problem(failure);
        }
    }

    async fn try_reconcile(&self) -> Result<(), Failure> {
        let now = self.platform.clock().now();
        let Some((cursor, etag)) = self.take_cursor(now).await? else {
            self.platform.log("repair: another is at it");
            return Ok(());
        };
        let mut position = self.position(&cursor.next);
        if cursor.begun.is_some() {
            // Whatever it was that ended it, it must not end every one.
            let line = format!(
                "repair: the last step has not ended, at {position}; what follows is passed over"
            );
            self.platform.log(&line);
            position = self.pass_over(position).await?;
        }
        let mut step = Step::new(None, position, self.config.repair_operations);
        let walked = self.walk(&mut step).await;
        if walked.is_err() {
            // Storage did not answer; the next step tries again.
            step.report.next = Some(step.position.to_string());
        }
        self.platform.log(&told(&step.report));
        let ended = CursorDocument {
            next: step.report.next.unwrap_or_default(),
            begun: None,
        };
        self.put_cursor(&ended, Condition::Unchanged(etag)).await?;
        walked
    }

    /// Takes the turn, and tells the document as it was before; `None` when it is somebody else's.
    async fn take_cursor(
        &self,
        now: UnixTime,
    ) -> Result<Option<(CursorDocument, String)>, Failure> {
        let key = FactKey::RepairCursor;
        let facts = self.platform.facts();
        let (before, condition) = match facts.get(&key).await? {
            Some(fact) => {
                let read = serde_json::from_slice(&fact.bytes);
                // One that cannot be read is begun anew.
                let document: CursorDocument = read.unwrap_or_default();
                (document, Condition::Unchanged(fact.etag))
            }
            None => (CursorDocument::default(), Condition::Absent),
        };
        if before.is_taken(now) {
            return Ok(None);
        }
        let taken = CursorDocument {
            begun: Some(now.0),
            ..before.clone()
        };
        if !self.put_cursor(&taken, condition).await? {
            return Ok(None);
        }
        // Its etag is what the end of this step is written under.
        let fact = facts.get(&key).await?;
        let ours = fact.filter(|fact| {
            serde_json::from_slice::<CursorDocument>(&fact.bytes).is_ok_and(|it| it == taken)
        });
        Ok(ours.map(|fact| (before, fact.etag)))
    }

    async fn put_cursor(
        &self,
        document: &CursorDocument,
        condition: Condition,
    ) -> Result<bool, Failure> {
        let text = serde_json::to_string(document);
        let text = text.map_err(|error| Failure::Corrupt(error.to_string()))?;
        let written = self
            .put_document(&FactKey::RepairCursor, &text, &[], condition)
            .await?;
        Ok(written.is_some())
    }

    fn position(&self, text: &str) -> Position {
        text.parse().unwrap_or_else(|error| {
            self.platform.log(&format!("repair: {text:?} is {error}"));
            Position::start(Section::Releases)
        })
    }

    /// The position behind the next fact, or in the next section.
    async fn pass_over(&self, position: Position) -> Result<Position, Failure> {
        let section = position.section;
        if !matches!(section, Section::Revocations | Section::Indices) {
            let facts = self.platform.facts();
            let behind = Some(position.behind.as_str()).filter(|behind| !behind.is_empty());
            let page = facts.list(section.prefix(), behind, 1).await?;
            if let Some(fact) = page.facts.into_iter().next() {
                return Ok(Position::behind(section, fact.name));
            }
        }
        let next = section.next().unwrap_or(Section::Releases);
        Ok(Position::start(next))
    }

    /// `POST /admin/v1/reindex`
    pub(super) async fn reindex(&self, body: &[u8]) -> Result<Reply<P::Stream>, Failure> {
        let ReindexBody {
            behind,
            package,
            accept_loss,
        } = parse(body)?;
        let only = match &package {
            None => None,
            Some(text) => Some(Package::parse_address(text).ok_or_else(|| {
                Problem::BadRequest(format!(
                    "package is {text:?}: it must be namespace/type, hostname/namespace/type or namespace/name/system"
                ))
            })?),
        };
        let position = match (&behind, &only) {
            (Some(behind), _) => behind
                .parse()
                .map_err(|error| Problem::BadRequest(format!("behind is {behind:?}: {error}")))?,
            (None, Some(package)) => Position::start_of(package),
            (None, None) => Position::start(Section::Releases),
        };
        let operations = match self.config.repair_operations {
            0 => limits::REPAIR_OPERATIONS,
            operations => operations,
        };
        super::operations::check_count(accept_loss.len(), limits::REPAIRED_NAMES)?;
        let accepted = accept_loss.iter().map(|text| {
            FactKey::parse_release(text).ok_or_else(|| {
                Problem::BadRequest(format!(
                    "accept_loss has {text:?}: it must be ADDRESS@VERSION, such as acme/widget@1.0.0"
                ))
            })
        });
        let accepted = accepted.collect::<Result<Vec<FactKey>, Problem>>()?;
        let mut step = Step::new(only, position, operations);
        step.accepted = accepted;
        self.walk(&mut step).await?;
        json(200, &step.report)
    }

    /// Goes on until there is nothing left to look at, or to do it with.
    async fn walk(&self, step: &mut Step) -> Result<(), Failure> {
        loop {
            let going = match step.position.section {
                Section::Revocations => self.repair_revocations(step).await?,
                Section::Incoming => self.sweep_incoming(step).await?,
                Section::Indices => self.repair_indices(step).await?,
                _ => self.repair_facts(step).await?,
            };
            if going == Going::Pausing {
                step.report.next = Some(step.position.to_string());
                return Ok(());
            }
            let mut next = step.position.section.next();
            // A package has its releases, and indices.
            if step.only.is_some() && next.is_some() {
                next = Some(Section::Indices);
            }
            match next {
                Some(next) => step.position = Position::start(next),
                None => return Ok(()),
            }
        }
    }

    /// Writes down how something went that concerns one index or one package. A failure ends nothing.
    fn note(&self, step: &mut Step, name: String, repaired: Result<bool, Failure>) {
        step.report.looked_at += 1;
        match repaired {
            Ok(false) => {}
            Ok(true) => step.report.rewritten.push(name),
            Err(failure) => self.note_failed(step, name, failure),
        }
    }

    fn note_failed(&self, step: &mut Step, name: String, failure: Failure) {
        self.platform.log(&format!("repair: {name} failed:"));
        self.problem(failure);
        step.report.failed.push(name);
    }
}

/// One line about a step.
fn told(report: &ReindexAnswer) -> String {
    let ReindexAnswer {
        looked_at,
        rewritten,
        removed,
        failed,
        lost,
        next,
    } = report;
    let named = |what: &str, names: &[String]| match names {
        [] => String::new(),
        names => {
            let some: Vec<&str> = names.iter().take(20).map(String::as_str).collect();
            format!(", {} {what} ({})", names.len(), some.join(" "))
        }
    };
    format!(
        "repair: {looked_at} looked at{}{}{}{}; {}",
        named("rewritten", rewritten),
        named("removed", removed),
        named("failed", failed),
        named("lost", lost),
        match next {
            Some(next) => format!("goes on behind {next}"),
            None => "that was the last; the next begins anew".to_owned(),
        }
    )
}
