//! The platform as a whole, and a journal of its operations.

use std::cell::RefCell;

use terrace_app::cache::Cache;
use terrace_app::host::{CacheRequest, CachedArchive, DownloadEvent, Host, LogLevel, StoreError};
use terrace_app::usage::{PlatformPart, UsageMeter};
use terrace_core::model::oci::Digest;

use super::Memory;
use crate::support::faults::Operation;

/// The recorded operations, log lines and downloads, in their order.
#[derive(Default)]
pub struct Journal {
    /// The operations of storage and the requests to other hosts.
    pub operations: RefCell<Vec<String>>,
    pub log: RefCell<Vec<(LogLevel, String)>>,
    pub request_lines: RefCell<Vec<String>>,
    pub downloads: RefCell<Vec<String>>,
    meter: UsageMeter,
}

impl Journal {
    pub fn note(&self, operation: &Operation) {
        let part = match operation.text.split(' ').next() {
            Some("KV") => PlatformPart::Kv,
            Some("R2") => PlatformPart::R2,
            _ => PlatformPart::Origin,
        };
        drop(self.meter.time(part, || 0));
        self.operations.borrow_mut().push(operation.text.clone());
    }
}

impl Host for Memory {
    type Stream = Vec<u8>;
    type Facts = Self;
    type Archives = Self;
    type Uploads = Self;
    type Indices = Self;
    type Upstream = Self;
    type Clock = Self;

    fn facts(&self) -> &Self {
        self
    }

    fn archives(&self) -> &Self {
        self
    }

    fn uploads(&self) -> &Self {
        self
    }

    fn indices(&self) -> &Self {
        self
    }

    fn upstream(&self) -> &Self {
        self
    }

    fn clock(&self) -> &Self {
        self
    }

    fn cache(&self) -> &Cache {
        &self.isolate
    }

    fn serves(&self, origin: &str) -> bool {
        let only = self.world.origin.borrow();
        only.as_ref().is_none_or(|only| only == origin)
    }

    fn stream(&self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        Some(bytes)
    }

    fn random(&self) -> [u8; 16] {
        let count = self.world.random.get() + 1;
        self.world.random.set(count);
        u128::from(count).to_be_bytes()
    }

    fn meter(&self) -> &UsageMeter {
        &self.world.journal.meter
    }

    async fn cached_archive(
        &self,
        request: CacheRequest<'_>,
    ) -> Result<Option<CachedArchive<Vec<u8>>>, StoreError> {
        self.ask_archive_cache(request).await
    }

    async fn purge(&self, digests: &[Digest]) -> Result<(), StoreError> {
        self.purge_archives(digests)
    }

    fn log_at(&self, level: LogLevel, line: &str) {
        let log = &self.world.journal.log;
        log.borrow_mut().push((level, line.to_owned()));
    }

    fn log_request(&self, line: &str) {
        let lines = &self.world.journal.request_lines;
        lines.borrow_mut().push(line.to_owned());
    }

    fn count(&self, download: &DownloadEvent<'_>) {
        let downloads = &self.world.journal.downloads;
        downloads.borrow_mut().push(counted(download));
    }

    async fn is_one_failure_too_many(&self, _: &str) -> bool {
        let left = self.world.failures_let_pass.get();
        let left = left.map(|left| left.checked_sub(1));
        self.world
            .failures_let_pass
            .set(left.map(Option::unwrap_or_default));
        left == Some(None)
    }

    async fn is_one_search_too_many(&self, _: &str) -> bool {
        false
    }
}

/// Returns a download as the journal records it.
pub fn counted(download: &DownloadEvent<'_>) -> String {
    let DownloadEvent {
        package,
        version,
        route,
        client,
    } = download;
    let (package, product) = (package.address(), client.product());
    format!("{package} {version} {route} {product}")
}
