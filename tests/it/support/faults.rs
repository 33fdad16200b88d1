//! The one mechanism by which a test breaks or interrupts storage operations: a rule names the operations
//! that it counts, which of them it affects, and what happens before or after them.

use std::cell::{Cell, RefCell};
use std::ops::{Range, RangeFrom};
use std::rc::Rc;

/// The operations that a rule counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operations {
    /// All operations.
    All,
    /// Operations that change something.
    Writes,
    /// Conditional writes to the bucket.
    Commits,
    /// Operations that begin with this text, such as `R2 put oci/tags/`.
    StartingWith(String),
}

impl Operations {
    fn include(&self, operation: &Operation) -> bool {
        match self {
            Self::All => true,
            Self::Writes => is_write(&operation.text),
            Self::Commits => operation.is_conditional,
            Self::StartingWith(start) => operation.text.starts_with(start),
        }
    }
}

impl From<&str> for Operations {
    fn from(start: &str) -> Self {
        Self::StartingWith(start.to_owned())
    }
}

/// Returns whether an operation changes something.
pub fn is_write(operation: &str) -> bool {
    ["R2 put", "R2 delete", "KV put", "KV delete"]
        .iter()
        .any(|write| operation.starts_with(write))
}

/// Returns whether an operation belongs to the cards or to the catalogue of an owner or of all owners.
pub fn is_of_catalog(operation: &str) -> bool {
    let (_, key) = operation.rsplit_once(' ').unwrap_or_default();
    let keys = [
        "cards/",
        "catalog/",
        "symbols/",
        "merged-catalog/",
        "changes/catalog/",
        "changes/merged-catalog",
        "written/catalog/",
        "written/merged-catalog/",
        "leases/catalog",
    ];
    keys.iter().any(|start| key.starts_with(start))
}

/// A storage operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Its kind and its key, such as `KV get …`.
    pub text: String,
    pub key: String,
    /// Whether it is a write that depends on the state of its key.
    pub is_conditional: bool,
}

impl Operation {
    /// An unconditional operation.
    pub fn new(kind: &str, key: &str) -> Self {
        Self {
            text: format!("{kind} {key}"),
            key: key.to_owned(),
            is_conditional: false,
        }
    }

    /// A write that depends on the state of its key, if `is_conditional`.
    pub fn conditional(self, is_conditional: bool) -> Self {
        Self {
            is_conditional,
            ..self
        }
    }
}

/// The operations that a rule affects, by their position among those that it counts, from 0 when the rule is
/// added: one position, or a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nth(Range<usize>);

impl From<usize> for Nth {
    fn from(at: usize) -> Self {
        Self(at..at.saturating_add(1))
    }
}

impl From<Range<usize>> for Nth {
    fn from(range: Range<usize>) -> Self {
        Self(range)
    }
}

impl From<RangeFrom<usize>> for Nth {
    fn from(range: RangeFrom<usize>) -> Self {
        Self(range.start..usize::MAX)
    }
}

/// Whether an action or a failure takes place before an operation takes effect, or after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// A broken operation has no effect.
    Before,
    /// A broken operation takes effect, and its result is lost.
    After,
}

/// How an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Storage returns an error.
    Error,
    /// Storage refuses the write because its key is written too often.
    Busy,
    /// The caller is killed.
    Kill,
}

/// A way to break an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The operation fails and has no effect.
    Before,
    /// The operation takes effect, and its result is lost.
    After,
    /// The key is written too often; the next attempt succeeds.
    Busy,
    /// The caller is killed before it takes effect.
    KilledBefore,
    /// The caller is killed after it took effect.
    KilledAfter,
    /// The operation fails, and so does every later one.
    Outage,
}

impl Break {
    /// The ways to break a read, for which it makes no difference whether it took effect.
    pub const OF_READS: [Self; 3] = [Self::Before, Self::KilledBefore, Self::Outage];

    /// The ways to break a write.
    pub const OF_WRITES: [Self; 6] = [
        Self::Before,
        Self::After,
        Self::Busy,
        Self::KilledBefore,
        Self::KilledAfter,
        Self::Outage,
    ];

    /// Returns the ways to break this operation.
    pub fn of(operation: &str) -> &'static [Self] {
        if is_write(operation) {
            &Self::OF_WRITES
        } else {
            &Self::OF_READS
        }
    }

    /// Returns the operations that are broken if the first of them is `at`.
    pub fn nth(self, at: usize) -> Nth {
        match self {
            Self::Outage => (at..).into(),
            _ => at.into(),
        }
    }

    /// Returns when and how the operation fails.
    pub fn failure(self) -> (When, Failure) {
        match self {
            Self::Before | Self::Outage => (When::Before, Failure::Error),
            Self::After => (When::After, Failure::Error),
            Self::Busy => (When::Before, Failure::Busy),
            Self::KilledBefore => (When::Before, Failure::Kill),
            Self::KilledAfter => (When::After, Failure::Kill),
        }
    }
}

/// The storage operations of a change, as they are without a fault.
#[derive(Debug, Clone)]
pub struct Trace {
    pub operations: Vec<String>,
    /// The status of the response.
    pub status: u16,
    /// Whether the change publishes a version, and so reads the audit log ahead.
    pub publishes: bool,
}

impl Trace {
    /// Returns the status of the response if the operation `at` breaks in this way; `None` if the caller is killed.
    pub fn broken(&self, at: usize, how: Break) -> Option<u16> {
        let operation = &self.operations[at];
        let is = |start| operation.starts_with(start);
        let is_unnoticed = match how {
            Break::KilledBefore | Break::KilledAfter => return None,
            // These happen after the response.
            _ if is("R2 delete incoming/") || is("R2 get webhooks/") => true,
            // The facts are used instead.
            Break::Before if is("KV get") || is("KV list") => true,
            // It is read again.
            Break::Before if is("R2 get audit") && self.publishes => true,
            _ if is_of_catalog(operation) && self.is_answered(at) => true,
            Break::Busy if is("R2 put archives/") => {
                // The texts of a provider are stored whole. Only the client has the bytes of a streamed upload.
                let is_upload = [".zip", ".tar.gz"].iter().any(|it| operation.ends_with(it));
                self.publishes && !is_upload
            }
            Break::Busy if is("R2 delete") => ["garbage/", "docs/", "cards/"]
                .iter()
                .any(|it| operation.contains(&format!(" {it}"))),
            Break::Busy => true,
            Break::Before | Break::After | Break::Outage => false,
        };
        Some(if is_unnoticed { self.status } else { 503 })
    }

    /// Returns whether the audit log is written before the operation `at`, and so the response sent.
    fn is_answered(&self, at: usize) -> bool {
        let later = &self.operations[at..];
        !later.iter().any(|it| it.starts_with("R2 put audit/"))
    }
}

/// Calls `test` for each write of an action, before the write takes effect and after it, until the action
/// has no such write. `test` lets that write fail, and returns whether it was reached.
///
/// # Panics
/// If the action has fewer writes than `at_least`.
#[track_caller]
pub fn at_each_write(at_least: usize, test: impl Fn(usize, When) -> bool) {
    for when in [When::Before, When::After] {
        let writes = (0..1_000).find(|at| !test(*at, when));
        let writes = writes.expect("the action ends");
        assert!(writes >= at_least, "only {writes} writes were broken");
    }
}

/// A handle to a rule that was added.
#[derive(Debug, Clone)]
pub struct Fault(Rc<Progress>);

#[derive(Debug, Default)]
struct Progress {
    /// The number of operations so far that the rule counted.
    seen: Cell<usize>,
    is_reached: Cell<bool>,
    is_lifted: Cell<bool>,
}

impl Fault {
    /// Returns whether an operation was affected.
    pub fn is_reached(&self) -> bool {
        self.0.is_reached.get()
    }

    /// Removes the rule. Returns whether an operation was affected.
    pub fn lift(&self) -> bool {
        self.0.is_lifted.set(true);
        self.is_reached()
    }
}

/// The rules of a test.
#[derive(Default)]
pub struct Faults {
    rules: RefCell<Vec<Rule>>,
}

struct Rule {
    operations: Operations,
    nth: Nth,
    when: When,
    action: Action,
    progress: Rc<Progress>,
}

enum Action {
    Fail(Failure),
    Run(Box<dyn FnOnce()>),
}

impl Faults {
    /// Lets operations fail.
    pub fn fail(
        &self,
        operations: Operations,
        nth: Nth,
        (when, failure): (When, Failure),
    ) -> Fault {
        self.add(operations, nth, when, Action::Fail(failure))
    }

    /// Runs `action` at an operation, once.
    pub fn run(
        &self,
        operations: Operations,
        nth: usize,
        when: When,
        action: impl FnOnce() + 'static,
    ) -> Fault {
        self.add(operations, nth.into(), when, Action::Run(Box::new(action)))
    }

    fn add(&self, operations: Operations, nth: Nth, when: When, action: Action) -> Fault {
        let progress = Rc::new(Progress::default());
        self.rules.borrow_mut().push(Rule {
            operations,
            nth,
            when,
            action,
            progress: Rc::clone(&progress),
        });
        Fault(progress)
    }

    /// Runs the actions that are due at `operation`. They may add rules, which are not due yet.
    pub fn interrupt(&self, now: When, operation: &Operation) {
        let mut due = Vec::new();
        self.rules.borrow_mut().retain_mut(|rule| {
            let is_about_it = matches!(rule.action, Action::Run(_)) && rule.when == now;
            if is_about_it && rule.meets(operation) {
                due.push(std::mem::replace(
                    &mut rule.action,
                    Action::Run(Box::new(|| {})),
                ));
            }
            !rule.is_over()
        });
        for action in due {
            if let Action::Run(action) = action {
                action();
            }
        }
    }

    /// Returns when and how `operation` fails, if it does: the oldest rule decides.
    pub fn failure(&self, operation: &Operation) -> Option<(When, Failure)> {
        let mut found = None;
        self.rules.borrow_mut().retain(|rule| {
            if let Action::Fail(failure) = rule.action
                && rule.meets(operation)
            {
                found = found.or(Some((rule.when, failure)));
            }
            !rule.is_over()
        });
        found
    }
}

impl Rule {
    /// Counts `operation`. Returns whether it is affected.
    fn meets(&self, operation: &Operation) -> bool {
        if self.progress.is_lifted.get() || !self.operations.include(operation) {
            return false;
        }
        let number = self.progress.seen.get();
        self.progress.seen.set(number + 1);
        let is_met = self.nth.0.contains(&number);
        if is_met {
            self.progress.is_reached.set(true);
        }
        is_met
    }

    fn is_over(&self) -> bool {
        self.progress.is_lifted.get() || self.progress.seen.get() >= self.nth.0.end
    }
}
