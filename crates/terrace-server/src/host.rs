//! The host traits of one request.

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use terrace_app::cache::Cache;
use terrace_app::host::{Clock as _, DownloadEvent, Host, LogLevel};
use terrace_app::usage::{PlatformPart, UsageMeter};
use terrace_base::url;
use terrace_core::auth::access::Throttle;
use terrace_core::config::Config;

use crate::clock::SystemClock;
use crate::internet::{Internet, Trust};
use crate::log;
use crate::metered::Metered;
use crate::origin::ServedHosts;
use crate::stores::{Bucket, IndexStore};
use crate::stream::ByteStream;

/// The state that all threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: &'static Config,
    pub(crate) hosts: ServedHosts,
    pub(crate) trust: Arc<Trust>,
    /// The failed authentications of the whole process: each thread counts its own as well.
    failures: Mutex<Throttle>,
    searches: Mutex<Throttle>,
}

impl Shared {
    pub(crate) fn new(config: &'static Config, hosts: ServedHosts) -> Self {
        Self {
            config,
            hosts,
            trust: Arc::default(),
            failures: Mutex::default(),
            searches: Mutex::default(),
        }
    }
}

/// Counts a request of a network, and returns whether it recently had too many.
fn is_one_too_many(throttle: &Mutex<Throttle>, network: &str, limit: u32) -> bool {
    let mut throttle = throttle.lock().unwrap_or_else(PoisonError::into_inner);
    throttle.count(network, SystemClock.now()) > limit
}

/// The host for one request.
pub(crate) struct NativeHost<B, I> {
    shared: Arc<Shared>,
    cache: Rc<Cache>,
    bucket: Metered<B>,
    indices: Metered<I>,
    internet: Internet,
    meter: Rc<UsageMeter>,
}

impl<B: Bucket, I: IndexStore> NativeHost<B, I> {
    pub(crate) fn new(shared: Arc<Shared>, cache: Rc<Cache>, bucket: B, indices: I) -> Self {
        let meter = Rc::<UsageMeter>::default();
        let counted = || Rc::clone(&meter);
        Self {
            bucket: Metered::new(bucket, PlatformPart::R2, counted()),
            indices: Metered::new(indices, PlatformPart::Kv, counted()),
            internet: Internet::new(Arc::clone(&shared.trust), counted()),
            shared,
            cache,
            meter,
        }
    }
}

impl<B: Bucket, I: IndexStore> Host for NativeHost<B, I> {
    type Stream = ByteStream;
    type Facts = Metered<B>;
    type Archives = Metered<B>;
    type Uploads = Metered<B>;
    type Indices = Metered<I>;
    type Upstream = Internet;
    type Clock = SystemClock;

    fn serves(&self, origin: &str) -> bool {
        self.shared.hosts.include(url::authority(origin))
    }

    fn facts(&self) -> &Metered<B> {
        &self.bucket
    }

    fn archives(&self) -> &Metered<B> {
        &self.bucket
    }

    fn uploads(&self) -> &Metered<B> {
        &self.bucket
    }

    fn indices(&self) -> &Metered<I> {
        &self.indices
    }

    fn upstream(&self) -> &Internet {
        &self.internet
    }

    fn clock(&self) -> &SystemClock {
        &SystemClock
    }

    fn cache(&self) -> &Cache {
        &self.cache
    }

    fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        if let Err(error) = getrandom::fill(&mut bytes) {
            // Predictable values must never be issued. This failure is not known to occur.
            log::line(&format!("the system provides no random numbers: {error}"));
            std::process::abort();
        }
        bytes
    }

    fn limits_index_writes(&self) -> bool {
        false
    }

    fn meter(&self) -> &UsageMeter {
        &self.meter
    }

    fn log_at(&self, _: LogLevel, line: &str) {
        log::line(line);
    }

    fn log_request(&self, line: &str) {
        log::line(line);
    }

    /// Downloads are counted by the log lines alone.
    fn count(&self, _: &DownloadEvent<'_>) {}

    async fn is_one_failure_too_many(&self, network: &str) -> bool {
        let limit = self.shared.config.failures_a_minute;
        is_one_too_many(&self.shared.failures, network, limit)
    }

    async fn is_one_search_too_many(&self, network: &str) -> bool {
        let limit = self.shared.config.searches_a_minute;
        is_one_too_many(&self.shared.searches, network, limit)
    }
}
