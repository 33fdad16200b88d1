//! The second bucket: requests to it by presigned URLs, and its listings.
//!
//! It has the archives and blobs of the main bucket under the same keys, and no facts. Content-addressed keys make every copy
//! interchangeable.

use crate::http::guard::Guard;
use crate::limits::UPLOAD_LIFETIME_SECONDS;
use crate::model::oci::Digest;
use crate::storage::archive_url::{ArchiveSigner, ArchiveUrls, Upload};
use crate::storage::key::BytesKey;
use crate::storage::signed_path::PathSigner;
use terrace_base::time::UnixTime;
use terrace_presign::{Listing, Presigner, SignedMethod};

/// How long a request to a bucket by its S3 API may take, in seconds, except for one that sends an archive. It is also the
/// lifetime of its URL.
pub const BUCKET_REQUEST_SECONDS: u32 = 10;

/// How long the copy of one archive to the second bucket may take, in seconds: a scheduled event may last 15 minutes
/// (<https://developers.cloudflare.com/workers/platform/limits/#duration>).
pub const COPY_SECONDS: u32 = 300;

/// Time after which an upload of a copy that began before the removal of its archive has ended, in seconds: its URL was signed before.
pub const COPY_SWEEP_SECONDS: u64 = UPLOAD_LIFETIME_SECONDS as u64 + COPY_SECONDS as u64;

/// Maximum length of the listing of a bucket, in bytes: `COMPARED_AT_ONCE` objects of at most a kilobyte each.
pub const BUCKET_PAGE_BYTES: u64 = 512 * 1024;

/// The second bucket of a deployment.
#[derive(Debug, Clone)]
pub struct FallbackBucket {
    presigner: Presigner,
    urls: ArchiveUrls,
}

impl FallbackBucket {
    /// Creates the bucket that `presigner` signs for. `paths` signs the pull-through URLs, which the Worker serves whatever
    /// bucket serves downloads; URLs of downloads are valid for `lifetime` seconds.
    pub fn new(presigner: Presigner, paths: Option<PathSigner>, lifetime: u32) -> Self {
        let signer = ArchiveSigner::Bucket(presigner.clone());
        Self {
            urls: ArchiveUrls::new(signer, paths, lifetime),
            presigner,
        }
    }

    /// Returns the signer of URLs for downloads.
    pub fn urls(&self) -> &ArchiveUrls {
        &self.urls
    }

    /// Returns the URL of the bucket, which identifies it.
    pub fn url(&self) -> String {
        self.presigner.bucket_url()
    }

    /// Returns the URL of the state of its versioning.
    pub fn versioning(&self, now: UnixTime) -> String {
        let lifetime = BUCKET_REQUEST_SECONDS;
        self.presigner.presign_property("versioning", now, lifetime)
    }

    /// Returns the guard of the registry's own requests to the bucket.
    pub fn guard(&self) -> Guard {
        Guard::of_endpoint(self.presigner.endpoint())
    }

    /// Returns the URL of an object for one request that follows at once.
    pub fn request(&self, method: SignedMethod, object: BytesKey, now: UnixTime) -> String {
        let lifetime = BUCKET_REQUEST_SECONDS;
        let key = object.to_string();
        self.presigner.presign(method, &key, &[], now, lifetime)
    }

    /// Returns the request that stores an object. Unlike an upload by a publisher it may replace one, because the copy may be
    /// damaged; the bucket checks a SHA-256 digest.
    pub fn upload(&self, object: BytesKey, now: UnixTime) -> Upload {
        let mut headers = vec![("content-type", object.content_type().to_owned())];
        if let Digest::Sha256(digest) = object.digest() {
            headers.push(("x-amz-checksum-sha256", digest.to_base64()));
        }
        Upload::presigned(&self.presigner, object, headers, now)
    }

    /// Returns the URL of a page of the listing of all keys that begin with `prefix`, after the key `after`.
    pub fn listing(&self, prefix: &str, after: Option<&str>, limit: u32, now: UnixTime) -> String {
        let listing = Listing {
            prefix,
            after,
            limit,
        };
        let lifetime = BUCKET_REQUEST_SECONDS;
        self.presigner.presign_listing(&listing, now, lifetime)
    }
}

/// A page of the listing of a bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BucketPage {
    /// The listed keys with the lengths of their objects in bytes, ascending.
    pub objects: Vec<(String, u64)>,
    /// Whether further keys follow the last one.
    pub is_truncated: bool,
}

/// A text is not the listing of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the response is not a list of objects (ListObjectsV2)")]
pub struct BucketPageError;

impl BucketPage {
    /// Parses a response
    /// (<https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html#API_ListObjectsV2_ResponseSyntax>). The keys of
    /// archives and blobs contain no character that XML escapes; objects with other keys are left out, because they are not
    /// the registry's.
    ///
    /// # Errors
    /// If it is not a listing, or one of its objects has no key or no length.
    pub fn parse(text: &str) -> Result<Self, BucketPageError> {
        let (_, list) = text
            .split_once("<ListBucketResult")
            .ok_or(BucketPageError)?;
        let mut objects = Vec::new();
        for rest in list.split("<Contents>").skip(1) {
            let (object, _) = rest.split_once("</Contents>").ok_or(BucketPageError)?;
            let key = element(object, "Key").ok_or(BucketPageError)?;
            let size = element(object, "Size").and_then(|text| text.parse().ok());
            let size = size.ok_or(BucketPageError)?;
            if !key.contains('&') {
                objects.push((key.to_owned(), size));
            }
        }
        Ok(Self {
            objects,
            is_truncated: element(list, "IsTruncated") == Some("true"),
        })
    }
}

/// Returns whether a bucket keeps the versions of removed objects, now or from an earlier time, according to its answer
/// (<https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketVersioning.html#API_GetBucketVersioning_ResponseSyntax>): the
/// status is *Enabled* or *Suspended*, and absent if versioning was never enabled. `None` for another answer.
pub fn keeps_versions(text: &str) -> Option<bool> {
    let (_, configuration) = text.split_once("<VersioningConfiguration")?;
    let status = element(configuration, "Status").unwrap_or_default();
    Some(matches!(status, "Enabled" | "Suspended"))
}

/// Returns the code in the answer of a bucket that refuses a request
/// (<https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html#RESTErrorResponses>), if it has one: a word.
pub fn error_code(text: &str) -> Option<&str> {
    let (_, error) = text.split_once("<Error")?;
    let is_word = |code: &&str| {
        let mut bytes = code.bytes();
        (1..=64).contains(&code.len()) && bytes.all(|byte| byte.is_ascii_alphanumeric())
    };
    element(error, "Code").filter(is_word)
}

/// Returns the text of the first element with this name.
fn element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (content, _) = rest.split_once(&format!("</{name}>"))?;
    Some(content.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The response of R2, shortened.
    const PAGE: &str = r#"<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>copies</Name><Contents><Key>archives/a.zip</Key><Size>7</Size><LastModified>2026-11-24T00:00:00.000Z</LastModified><ETag>&quot;x&quot;</ETag></Contents><Contents><ETag>"y"</ETag><Size>12</Size><Key>archives/b&amp;c</Key></Contents><IsTruncated>true</IsTruncated><MaxKeys>2</MaxKeys></ListBucketResult>"#;

    #[test]
    fn a_page_of_a_listing_is_parsed_without_keys_that_are_escaped() {
        let page = BucketPage::parse(PAGE).unwrap();
        assert_eq!(page.objects, [("archives/a.zip".to_owned(), 7)]);
        assert!(page.is_truncated);
    }

    #[test]
    fn an_empty_listing_is_parsed() {
        let text = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
        assert_eq!(BucketPage::parse(text), Ok(BucketPage::default()));
    }

    #[test]
    fn other_responses_are_rejected() {
        for text in [
            "",
            "<Error><Code>NoSuchBucket</Code></Error>",
            "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
            "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
            "<ListBucketResult><Contents><Key>a</Key><Size>1</Size>",
        ] {
            assert_eq!(BucketPage::parse(text), Err(BucketPageError), "{text}");
        }
    }

    #[test]
    fn the_state_of_the_versioning_of_a_bucket_is_parsed() {
        let answer = |inner: &str| {
            format!(
                r#"<?xml version="1.0"?><VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{inner}</VersioningConfiguration>"#
            )
        };
        for (inner, keeps) in [
            ("<Status>Enabled</Status>", true),
            ("<Status>Suspended</Status>", true),
            ("<MfaDelete>Disabled</MfaDelete>", false),
            ("", false),
        ] {
            assert_eq!(keeps_versions(&answer(inner)), Some(keeps), "{inner}");
        }
        let empty = r#"<VersioningConfiguration xmlns="x"/>"#;
        assert_eq!(keeps_versions(empty), Some(false));
        assert_eq!(
            keeps_versions("<Error><Code>AccessDenied</Code></Error>"),
            None
        );
    }
}
