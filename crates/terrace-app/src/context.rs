//! The state of one request: the configuration, the host, and the tasks deferred until after the response.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use terrace_base::time::UnixTime;
use terrace_core::config::Config;
use terrace_core::http::problem::Problem;
use terrace_core::index::card::CardChange;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::package::{Package, PulledPackage};
use terrace_core::storage::key::{IndexKey, StagedKey};
use terrace_core::storage::release::OfferedPackage;

use crate::failure::Failure;
use crate::host::{Host, LogLevel};

/// The context of one request, or of one step of the periodic repair.
#[derive(Debug)]
pub struct Context<'a, P: Host> {
    pub(crate) config: &'a Config,
    pub(crate) host: P,
    /// The address of the client, as the platform knows it; empty if it is unknown.
    pub(crate) client_address: String,
    tasks: RefCell<Vec<Task<P::Stream>>>,
    /// When this request first contacted another registry.
    pub(crate) asking_since: Cell<Option<UnixTime>>,
    memo: RefCell<Vec<Rc<dyn Any>>>,
}

/// A task to perform after the response has been sent.
#[derive(Debug)]
pub enum Task<S> {
    /// Write an index that a reader missed.
    BackfillIndex(IndexKey),
    /// Ask a provider's origin for versions that the mirror does not list yet.
    RefreshOriginList(MirroredAddress),
    /// Store an archive while it is sent to a client.
    StorePulled(Box<Pulled<S>>),
    /// Read the list of revoked tokens.
    ReadRevocations,
    /// Read which bucket serves downloads.
    ReadFailover,
    /// Remove a completed upload, with its chunks, by their names.
    DiscardUpload(Vec<String>),
    /// Remove some of the abandoned uploads.
    SweepUploads,
    /// Remove the staged archives of a published release.
    DiscardStaged(Vec<StagedKey>),
    /// Write the catalogue of a package's owner after its card has changed.
    RefreshCatalog(Package, CardChange),
    /// Rebuild the catalogue of all owners after a card has changed.
    MergeCatalog,
    /// Rebuild the catalogue of all owners if a card has changed.
    MergeCatalogIfDue,
    /// Deliver the events of changes to webhooks.
    DeliverWebhooks,
}

/// A package that is being fetched from its origin.
#[derive(Debug)]
pub struct Pulled<S> {
    pub(crate) package: PulledPackage,
    pub(crate) offer: OfferedPackage,
    pub(crate) stream: S,
}

impl<'a, P: Host> Context<'a, P> {
    /// Returns the context of a request from this address.
    pub fn new(config: &'a Config, host: P, client_address: String) -> Self {
        Self {
            config,
            host,
            client_address,
            tasks: RefCell::default(),
            asking_since: Cell::default(),
            memo: RefCell::default(),
        }
    }

    /// Returns the tasks to perform after the responses so far. They must be completed even if the client has
    /// disconnected: a request that writes a version list has to live until it has verified it.
    pub fn take_tasks(&self) -> Vec<Task<P::Stream>> {
        self.tasks.take()
    }

    /// Defers a task until after the response.
    pub(crate) fn defer(&self, task: Task<P::Stream>) {
        self.tasks.borrow_mut().push(task);
    }

    /// Returns the value of this type that a service has stored for the rest of the request.
    pub(crate) fn recall<T: Any>(&self) -> Option<Rc<T>> {
        let memo = self.memo.borrow();
        memo.iter().find_map(|it| Rc::clone(it).downcast().ok())
    }

    /// Stores a value for the rest of the request, replacing any other of its type.
    pub(crate) fn remember<T: Any>(&self, value: T) {
        let mut memo = self.memo.borrow_mut();
        memo.retain(|it| !it.is::<T>());
        memo.push(Rc::new(value));
    }

    /// Returns the contents of a change marker: 16 random bytes in hexadecimal, so that no two markers are
    /// equal, and a revision can be derived from the content in any storage.
    pub(crate) fn change_marker(&self) -> String {
        let random = u128::from_be_bytes(self.host.random());
        format!("{random:032x}")
    }

    /// Returns a random number, different for each call.
    pub(crate) fn unique_number(&self) -> u64 {
        let [.., a, b, c, d, e, f, g, h] = self.host.random();
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// Returns how many storage operations this request has performed.
    pub(crate) fn operations(&self) -> u32 {
        let usage = self.host.meter().usage();
        usage.kv.operations + usage.r2.operations
    }

    fn error(&self, line: &str) {
        self.host.log_at(LogLevel::Error, line);
    }

    /// Returns the first failure of two results; the other one is only logged.
    pub(crate) fn both(
        &self,
        first: Result<(), Failure>,
        second: Result<(), Failure>,
    ) -> Result<(), Failure> {
        match (first, second) {
            (Err(first), Err(second)) => {
                drop(self.report(second));
                Err(first)
            }
            (first, second) => first.and(second),
        }
    }

    /// Logs the internal details of a failure, and returns the error for the client. No other function does
    /// this.
    pub(crate) fn report(&self, failure: Failure) -> Problem {
        match failure {
            Failure::Problem(problem) => problem,
            Failure::Store(error) => {
                self.error(&format!("storage: {error}"));
                Problem::Unavailable(
                    "storage did not answer; nothing is lost: send the same request again"
                        .to_owned(),
                )
            }
            Failure::Outrun(package) => {
                self.host.log(&format!("contention: {package}"));
                Problem::Unavailable(
                    "published, but the version list is stale, because other publishes keep changing it: \
                     send the same request again"
                        .to_owned(),
                )
            }
            Failure::Origin(what) => {
                self.host.log(&format!("origin: {what}"));
                Problem::Origin(what)
            }
            Failure::Corrupt(what) => {
                self.error(&format!("corrupt: {what}"));
                Problem::Corrupt(
                    "a stored document is corrupt: its key is in the registry's log (\"corrupt:\"); the operator \
                     can remove it from the bucket, and restore it from a copy (terrace admin import)"
                        .to_owned(),
                )
            }
            Failure::Damaged(key) => {
                let line = format!("storage: {key} was damaged during the upload to storage");
                self.error(&line);
                Problem::Corrupt(
                    "the upload was damaged in transit: send the same request again".to_owned(),
                )
            }
        }
    }
}
