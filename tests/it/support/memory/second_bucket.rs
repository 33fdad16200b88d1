//! The S3 endpoints of the two buckets, as the registry reaches them by presigned URLs: `https://bucket.test/terrace/` is the
//! main bucket, and `https://copies.test/copies/` the second one.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use terrace_app::host::{BucketRequest, UpstreamError};
use terrace_core::http::guard::{Guard, UrlParts};
use terrace_core::upstream::origin::Fetched;
use url::Url;

use super::Memory;
use crate::support::faults::Operation;

/// The settings of the second bucket.
pub const FALLBACK: [(&str, &str); 4] = [
    ("TERRACE_S3_FALLBACK_ENDPOINT", "https://copies.test"),
    ("TERRACE_S3_FALLBACK_BUCKET", "copies"),
    ("TERRACE_S3_FALLBACK_ACCESS_KEY_ID", "other id"),
    ("TERRACE_S3_FALLBACK_SECRET_ACCESS_KEY", "other secret"),
];

/// The beginning of the URLs of the second bucket.
pub const COPIES: &str = "https://copies.test/copies/";

/// The beginning of the URLs of the main bucket.
const MAIN: &str = "https://bucket.test/terrace/";

/// The way in which an S3 endpoint fails.
#[derive(Debug, Clone, Copy)]
pub enum EndpointFault {
    /// It does not answer.
    NoAnswer,
    /// It answers with this status.
    Status(u16),
}

/// The second bucket.
#[derive(Default)]
pub struct SecondBucket {
    objects: RefCell<BTreeMap<String, Vec<u8>>>,
    is_down: Cell<bool>,
    /// The time that each answer takes, in seconds.
    delay: Cell<u32>,
    /// Whether it keeps versions of removed objects.
    keeps_versions: Cell<bool>,
    /// The keys that it refuses to store, as if the bytes were damaged.
    refused: RefCell<Vec<String>>,
    /// The keys that it refuses to remove.
    locked: RefCell<Vec<String>>,
    /// The fault of the S3 endpoint of the main bucket, although the binding may answer.
    main: Cell<Option<EndpointFault>>,
}

impl Memory {
    /// Returns the objects of the second bucket.
    pub fn copies(&self) -> BTreeMap<String, Vec<u8>> {
        self.world.second.objects.borrow().clone()
    }

    /// Stores an object in the second bucket.
    pub fn put_copy(&self, key: &str, bytes: &[u8]) {
        let mut objects = self.world.second.objects.borrow_mut();
        objects.insert(key.to_owned(), bytes.to_vec());
    }

    /// Makes the second bucket refuse an object, as it does if the bytes have another digest.
    pub fn refuse_copy(&self, key: &str) {
        self.world.second.refused.borrow_mut().push(key.to_owned());
    }

    /// Makes the second bucket refuse to remove an object, as it does if the object is locked.
    pub fn lock_copy(&self, key: &str) {
        self.world.second.locked.borrow_mut().push(key.to_owned());
    }

    /// Makes the second bucket unreachable, or reachable again.
    pub fn set_second_down(&self, is_down: bool) {
        self.world.second.is_down.set(is_down);
    }

    /// Makes each answer of the second bucket take this time.
    pub fn delay_second(&self, seconds: u32) {
        self.world.second.delay.set(seconds);
    }

    /// Enables the versioning of the second bucket.
    pub fn enable_versioning(&self) {
        self.world.second.keeps_versions.set(true);
    }

    /// Makes the S3 endpoint of the main bucket fail, or answer again.
    pub fn set_endpoint_fault(&self, fault: Option<EndpointFault>) {
        self.world.second.main.set(fault);
    }

    pub(super) async fn answer_of_bucket(
        &self,
        request: BucketRequest<Vec<u8>>,
        guard: &Guard,
        seconds: u32,
    ) -> Result<Fetched, UpstreamError> {
        let url = Url::parse(&request.url).map_err(|error| UpstreamError(error.to_string()))?;
        let parts = UrlParts {
            scheme: url.scheme(),
            has_userinfo: false,
            host: url.host_str().unwrap_or_default(),
            port: url.port(),
        };
        guard
            .check(parts)
            .map_err(|error| UpstreamError(error.to_string()))?;
        assert!(request.url.contains("X-Amz-Signature="), "{}", request.url);
        let key = request.url.split('?').next().unwrap().to_owned();
        let operation = Operation::new(&format!("bucket {}", request.method.as_str()), &key);
        let second = &self.world.second;
        let fault = match key.starts_with(COPIES) {
            true => {
                let delay = second.delay.get();
                self.advance(delay.min(seconds).into());
                let is_late = delay > seconds;
                (is_late || second.is_down.get()).then_some(EndpointFault::NoAnswer)
            }
            false => second.main.get(),
        };
        let done = self.operation(operation, || {
            Ok(match key.strip_prefix(COPIES) {
                Some("") if url.query_pairs().any(|(name, _)| name == "versioning") => {
                    (200, second.versioning())
                }
                Some("") => (200, listing(&second.objects.borrow(), &url)),
                Some(key) => second.answer(key, &request),
                None => match key.strip_prefix(MAIN) {
                    Some(key) if self.bucket().get(key).is_some() => (200, Vec::new()),
                    Some(_) => (404, Vec::new()),
                    None => (404, error("NoSuchBucket")),
                },
            })
        });
        let done = done.await.map_err(|error| UpstreamError(error.to_string()));
        let (status, body) = match fault {
            None => done?,
            Some(EndpointFault::NoAnswer) => return Err(UpstreamError("no answer".to_owned())),
            Some(EndpointFault::Status(status)) => (status, Vec::new()),
        };
        Ok(Fetched {
            status,
            final_url: request.url,
            content_type: None,
            body,
        })
    }
}

impl SecondBucket {
    fn answer(&self, key: &str, request: &BucketRequest<Vec<u8>>) -> (u16, Vec<u8>) {
        if self.is_down.get() {
            return (503, Vec::new());
        }
        let mut objects = self.objects.borrow_mut();
        match (request.method.as_str(), &request.body) {
            ("PUT", _) if self.refused.borrow().iter().any(|it| it == key) => {
                (400, error("BadDigest"))
            }
            ("DELETE", _) if self.locked.borrow().iter().any(|it| it == key) => {
                (403, error("AccessDenied"))
            }
            ("PUT", Some((length, bytes))) => {
                assert_eq!(bytes.len() as u64, *length, "the stated length is right");
                objects.insert(key.to_owned(), bytes.clone());
                (200, Vec::new())
            }
            ("DELETE", None) => {
                objects.remove(key);
                (204, Vec::new())
            }
            ("GET", None) => match objects.get(key) {
                Some(bytes) => (200, bytes.clone()),
                None => (404, Vec::new()),
            },
            other => panic!("the registry does not send {other:?}"),
        }
    }

    /// Returns the state of its versioning, as S3 writes it.
    fn versioning(&self) -> Vec<u8> {
        let status = match self.keeps_versions.get() {
            true => "<Status>Enabled</Status>",
            false => "",
        };
        format!("<VersioningConfiguration>{status}</VersioningConfiguration>").into_bytes()
    }
}

/// Returns an error, as S3 writes it.
fn error(code: &str) -> Vec<u8> {
    format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>a reason</Message></Error>")
        .into_bytes()
}

/// Returns a page of the listing, as S3 writes it.
fn listing(objects: &BTreeMap<String, Vec<u8>>, url: &Url) -> Vec<u8> {
    let parameter = |name: &str| {
        let mut pairs = url.query_pairs();
        pairs.find(|(known, _)| known == name).map(|it| it.1)
    };
    let prefix = parameter("prefix").unwrap_or_default().into_owned();
    let after = parameter("start-after").unwrap_or_default().into_owned();
    let limit: usize = parameter("max-keys").unwrap().parse().unwrap();
    let listed: Vec<_> = objects
        .iter()
        .filter(|(key, _)| key.starts_with(&prefix) && **key > after)
        .collect();
    let contents: String = listed
        .iter()
        .take(limit)
        .map(|(key, bytes)| {
            let size = bytes.len();
            format!("<Contents><Key>{key}</Key><Size>{size}</Size></Contents>")
        })
        .collect();
    let is_truncated = listed.len() > limit;
    format!(
        "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>{is_truncated}</IsTruncated>{contents}</ListBucketResult>"
    )
    .into_bytes()
}
