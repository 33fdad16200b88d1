//! The native host of Terrace: it answers the same requests as the Worker, over a directory or an object store.
//!
//! [`terrace_app`] answers requests through the traits of its [`host`](terrace_app::host); this crate implements them
//! for an ordinary process.
//!
//! Each core has a thread with a runtime of its own, like an isolate of the Worker: nothing of a request crosses threads, so
//! nothing in the application is `Send`. Threads share the listening socket, the [`stores`] and the configuration.
//!
//! | | |
//! |---|---|
//! | [`limits`], [`stream`], `clock`, `log` | limits; streams; the clock; the log |
//! | [`stores`], `metered` | the storage that the host requires; its usage counters |
//! | [`memory`], [`disk`], `objects`, [`index`] | storage in memory, in a directory and in an object store; the indices |
//! | `volume`, `arriving`, `hashing`, `blocking` | a file system; bytes on their way to a store; their digests; work that blocks a thread |
//! | [`process`], `shares` | the limits and rights of the process; the shares of its clients |
//! | [`proxy`], `origin` | proxies that are trusted; the hostnames that are served |
//! | `fork`, `internet` | requests to other servers |
//! | `host` | the host traits |
//! | [`tls`], `incoming`, `outgoing`, `socket` | requests, responses and connections |
//! | [`server`] | threads, connections, background tasks and shutdown |

mod arriving;
mod blocking;
mod chunks;
mod clock;
#[cfg(test)]
#[path = "tests/contract.rs"]
mod contract;
pub mod disk;
mod fork;
mod hashing;
mod host;
mod incoming;
pub mod index;
mod internet;
pub mod limits;
mod log;
pub mod memory;
mod metered;
#[cfg(feature = "object-store")]
pub mod objects;
mod origin;
mod outgoing;
pub mod process;
pub mod proxy;
pub mod server;
mod shares;
mod socket;
pub mod stores;
pub mod stream;
pub mod tls;
mod volume;
