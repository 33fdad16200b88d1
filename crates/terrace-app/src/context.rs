//! What one request has at hand: the configuration, the host, and the tasks it leaves behind.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use terrace_base::time::UnixTime;
use terrace_core::config::Config;
use terrace_core::http::problem::Problem;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::package::PulledPackage;
use terrace_core::storage::key::{IncomingKey, IndexKey};
use terrace_core::storage::release::OfferedPackage;

use crate::failure::Failure;
use crate::host::Host;

/// The context of one request, or of one step of the periodic repair.
#[derive(Debug)]
pub struct Context<'a, P: Host> {
    pub(crate) config: &'a Config,
    pub(crate) host: P,
    /// The address of the client, as the platform knows it; empty where it does not.
    pub(crate) client_address: String,
    tasks: RefCell<Vec<Task<P::Stream>>>,
    /// When this request has begun to ask other registries.
    pub(crate) asking_since: Cell<Option<UnixTime>>,
    memo: RefCell<Vec<Rc<dyn Any>>>,
}

/// Something to do once the client has its answer.
#[derive(Debug)]
pub enum Task<S> {
    /// Write an index that a reader has missed.
    Rebuild(IndexKey),
    /// Ask a provider's origin whether there is more than the mirror lists.
    Refresh(MirroredAddress),
    /// Store what a client is being sent.
    Store(Box<Pulled<S>>),
    /// Read which tokens are revoked.
    Revocations,
    /// Remove an upload that is complete, with its chunks, by their names.
    Discard(Vec<String>),
    /// Remove some of the uploads that nobody will complete.
    Sweep,
    /// Remove staged archives that are published.
    DiscardStaged(Vec<IncomingKey>),
}

/// A package on its way from its origin.
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

    /// Returns what is to be done after the answers so far. It must be carried through even when the client
    /// has gone: a writer of lists has to live until its second look.
    pub fn take_tasks(&self) -> Vec<Task<P::Stream>> {
        self.tasks.take()
    }

    /// Leaves a task to be done after the answer.
    pub(crate) fn defer(&self, task: Task<P::Stream>) {
        self.tasks.borrow_mut().push(task);
    }

    /// Returns the value of this type that a service has remembered for the rest of the request.
    pub(crate) fn recall<T: Any>(&self) -> Option<Rc<T>> {
        let memo = self.memo.borrow();
        memo.iter().find_map(|it| Rc::clone(it).downcast().ok())
    }

    /// Remembers a value for the rest of the request, in place of another of its type.
    pub(crate) fn remember<T: Any>(&self, value: T) {
        let mut memo = self.memo.borrow_mut();
        memo.retain(|it| !it.is::<T>());
        memo.push(Rc::new(value));
    }

    /// Returns the contents of a change marker: 16 random bytes in hexadecimal, so that no two markers are the same, and
    /// a revision follows from the content wherever it is stored.
    pub(crate) fn change_marker(&self) -> String {
        let random = u128::from_be_bytes(self.host.random());
        format!("{random:032x}")
    }

    /// Returns a number that no other request has.
    pub(crate) fn unique_number(&self) -> u64 {
        let [.., a, b, c, d, e, f, g, h] = self.host.random();
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// Returns how many storage operations this request has taken.
    pub(crate) fn operations(&self) -> u32 {
        let usage = self.host.meter().usage();
        usage.kv.operations + usage.r2.operations
    }

    /// Logs what went wrong inside, and returns what is told outside: the one place where this is done.
    pub(crate) fn report(&self, failure: Failure) -> Problem {
        match failure {
            Failure::Problem(problem) => problem,
            Failure::Store(error) => {
                self.host.log(&format!("storage: {error}"));
                Problem::Unavailable(
                    "storage did not answer; nothing is lost: send the same request again"
                        .to_owned(),
                )
            }
            Failure::Outrun(package) => {
                self.host.log(&format!("outrun: {package}"));
                Problem::Unavailable(
                    "published, but others publish so fast that the version list is behind: \
                     send the same request again"
                        .to_owned(),
                )
            }
            Failure::Origin(what) => {
                self.host.log(&format!("origin: {what}"));
                Problem::Origin(what)
            }
            Failure::Corrupt(what) => {
                self.host.log(&format!("corrupt: {what}"));
                Problem::Corrupt("a stored document cannot be read; the log says which".to_owned())
            }
        }
    }
}
