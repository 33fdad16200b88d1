//! URLs of archives, for downloads and uploads: time-limited, without a credential.

use crate::http::guard::Guard;
use crate::limits;
use crate::model::oci::Digest;
use crate::model::package::PulledPackage;
use crate::storage::key::BytesKey;
use crate::storage::signed_path::PathSigner;
use terrace_base::time::UnixTime;
use terrace_presign::{Presigner, SignedMethod};

/// Makes the URLs of archives. The mode depends on the keys and the setting of the deployment.
#[derive(Debug, Clone)]
pub struct ArchiveUrls {
    /// Signs downloads, and uploads unless there is a bucket for them.
    signer: ArchiveSigner,
    /// Signs uploads, and downloads that the Worker does not serve well, while `signer` is the Worker.
    pub(crate) bucket: Option<Presigner>,
    /// Whether downloads go through the platform's cache of archives.
    pub(crate) is_cached: bool,
    /// Signs the pull-through URLs of packages that are not stored yet; the Worker serves them in both modes.
    paths: Option<PathSigner>,
    lifetime: u32,
}

/// The server of archive URLs.
#[derive(Debug, Clone)]
pub enum ArchiveSigner {
    /// The bucket itself, through its S3 API.
    Bucket(Presigner),
    /// The Worker, which streams from its bucket binding.
    Worker(PathSigner),
}

/// The way in which archives reach clients, as a deployment sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Downloads {
    /// From the bucket, by presigned URLs of its S3 API.
    Presigned,
    /// From the Worker, which reads the bucket for each download.
    Worker,
    /// From the Worker, through the platform's cache of archives.
    Edge,
}

impl Downloads {
    /// Parses the setting; `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "presigned" => Some(Self::Presigned),
            "worker" => Some(Self::Worker),
            "edge" => Some(Self::Edge),
            _ => None,
        }
    }
}

/// The upload of one archive: a PUT of its bytes to `url` with exactly these headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The target of the PUT request.
    pub url: String,
    /// Header names in lower case, with their values.
    pub headers: Vec<(&'static str, String)>,
}

impl Upload {
    /// Returns the upload of an object to a bucket, with headers that the signature covers.
    pub(crate) fn presigned(
        presigner: &Presigner,
        object: BytesKey,
        headers: Vec<(&'static str, String)>,
        now: UnixTime,
    ) -> Self {
        let signed = headers.iter().map(|(name, value)| (*name, value.as_str()));
        let signed: Vec<(&str, &str)> = signed.collect();
        let (key, lifetime) = (object.to_string(), limits::UPLOAD_LIFETIME_SECONDS);
        let url = presigner.presign(SignedMethod::Put, &key, &signed, now, lifetime);
        Self { url, headers }
    }
}

/// A header that names the expected owner of a copy's source. No owner is called `none`, so with this value
/// every copy fails; a plain PUT ignores it. Stores that do not check whether all headers are signed would
/// otherwise accept an additional `x-amz-copy-source` header, and copy any object of the bucket to the target
/// of an upload (<https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html>).
const NO_COPY: &str = "x-amz-source-expected-bucket-owner";

impl ArchiveUrls {
    /// Creates URLs signed by `signer`, and pull-through URLs signed by `paths`; downloads are valid for
    /// `lifetime` seconds.
    pub fn new(signer: ArchiveSigner, paths: Option<PathSigner>, lifetime: u32) -> Self {
        Self {
            signer,
            bucket: None,
            is_cached: false,
            paths,
            lifetime,
        }
    }

    /// Returns the same URLs, but with those of archives served by a bucket.
    #[must_use]
    pub fn served_by(self, presigner: Presigner) -> Self {
        Self {
            signer: ArchiveSigner::Bucket(presigner),
            ..self
        }
    }

    /// Returns the URL for pulling a package that its origin offers and no client has requested yet.
    pub fn pull(&self, origin: &str, package: PulledPackage, now: UnixTime) -> Option<String> {
        let signer = self.paths.as_ref()?;
        Some(format!(
            "{origin}{}",
            signer.pull(&package, now.plus(self.lifetime))
        ))
    }

    /// Returns the signer of pull-through URLs.
    pub fn pull_signer(&self) -> Option<&PathSigner> {
        self.paths.as_ref()
    }

    /// Returns the URL of an object for a download. `origin` is the registry's own, as in `https://host`.
    pub fn download(&self, origin: &str, object: impl Into<BytesKey>, now: UnixTime) -> String {
        let object = object.into();
        match &self.signer {
            ArchiveSigner::Bucket(presigner) => presigned(presigner, object, now, self.lifetime),
            ArchiveSigner::Worker(signer) => {
                let path = signer.download(object, now.plus(self.lifetime));
                format!("{origin}{path}")
            }
        }
    }

    /// Returns the URL of an object for a download from the bucket itself, which is not valid after `until`, or after a second,
    /// the shortest lifetime that S3 knows; `None` without S3 keys.
    pub fn presigned(
        &self,
        object: impl Into<BytesKey>,
        now: UnixTime,
        until: UnixTime,
    ) -> Option<String> {
        let left = u32::try_from(until.since(now)).unwrap_or(u32::MAX);
        let lifetime = left.min(self.lifetime).max(1);
        Some(presigned(self.bucket()?, object.into(), now, lifetime))
    }

    /// Returns the URL of an object for a copy of the registry: without a cache in between, which may have an object that the bucket has
    /// lost. Without S3 keys it is the usual one.
    pub fn uncached(&self, origin: &str, object: BytesKey, now: UnixTime) -> String {
        let presigned = match self.is_cached {
            true => self.presigned(object, now, now.plus(self.lifetime)),
            false => None,
        };
        presigned.unwrap_or_else(|| self.download(origin, object, now))
    }

    /// Returns the signer of uploads to the bucket, if there is one.
    fn bucket(&self) -> Option<&Presigner> {
        match &self.signer {
            ArchiveSigner::Bucket(presigner) => Some(presigner),
            ArchiveSigner::Worker(_) => self.bucket.as_ref(),
        }
    }

    /// Returns the upload of an object of `size` bytes, to its final key or as a staged upload. Signed
    /// headers make the bucket check the digest, so it rejects other bytes; they allow only creating, so the
    /// upload never replaces a referenced object; and they rule out a copy, which a single additional header
    /// would request. There is no such check of a SHA-512 digest: the request that makes a reference to the
    /// object has to compare it.
    pub fn upload(&self, origin: &str, object: BytesKey, size: u64, now: UnixTime) -> Upload {
        let content_type = object.content_type().to_owned();
        match (&self.signer, &self.bucket) {
            (ArchiveSigner::Bucket(presigner), _) | (ArchiveSigner::Worker(_), Some(presigner)) => {
                let mut headers = vec![
                    ("content-type", content_type),
                    ("if-none-match", "*".to_owned()),
                ];
                if let Digest::Sha256(digest) = object.digest() {
                    headers.push(("x-amz-checksum-sha256", digest.to_base64()));
                }
                headers.push((NO_COPY, "none".to_owned()));
                Upload::presigned(presigner, object, headers, now)
            }
            (ArchiveSigner::Worker(signer), None) => {
                let expires = now.plus(limits::UPLOAD_LIFETIME_SECONDS);
                let path = signer.upload(object, size, expires);
                Upload {
                    url: format!("{origin}{path}"),
                    headers: vec![("content-type", content_type)],
                }
            }
        }
    }

    /// Returns the largest archive that can be uploaded, in bytes, and the reason for this limit.
    pub fn upload_limit(&self) -> (u64, &'static str) {
        match self.bucket() {
            Some(_) => (
                limits::ARCHIVE_BYTES,
                "this is the limit of a single PUT to R2",
            ),
            None => (
                limits::WORKER_BODY_BYTES,
                "without S3 keys uploads pass through the Worker, and Cloudflare accepts no larger \
                 request body; set the TERRACE_S3_… variables to upload archives directly to R2",
            ),
        }
    }

    /// Returns the guard of the registry's own requests to the bucket; `None` if the Worker serves the archives.
    pub fn bucket_guard(&self) -> Option<Guard> {
        match &self.signer {
            ArchiveSigner::Bucket(presigner) => Some(Guard::of_endpoint(presigner.endpoint())),
            ArchiveSigner::Worker(_) => None,
        }
    }

    /// Returns whether a bucket serves the archives, by presigned URLs.
    pub fn is_of_bucket(&self) -> bool {
        matches!(self.signer, ArchiveSigner::Bucket(_))
    }

    /// Returns whether a bucket receives the archives, by presigned URLs.
    pub fn has_bucket(&self) -> bool {
        self.bucket().is_some()
    }

    /// Returns whether downloads go through the platform's cache of archives.
    pub fn is_cached(&self) -> bool {
        self.is_cached
    }

    /// Returns the signer of Worker-signed paths; `None` if a bucket serves the archives.
    pub fn path_signer(&self) -> Option<&PathSigner> {
        match &self.signer {
            ArchiveSigner::Worker(signer) => Some(signer),
            ArchiveSigner::Bucket(_) => None,
        }
    }
}

fn presigned(presigner: &Presigner, object: BytesKey, now: UnixTime, lifetime: u32) -> String {
    presigner.presign(SignedMethod::Get, &object.to_string(), &[], now, lifetime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::key::{ArchiveKey, ArchiveKind};
    use terrace_base::digest::Sha256;
    use terrace_base::secret::Secret;
    use terrace_presign::Endpoint;

    #[test]
    fn a_url_of_the_bucket_expires_with_the_url_that_led_to_it_or_after_a_second() {
        let endpoint = Endpoint::parse("https://s3.example.com").unwrap();
        let presigner = Presigner::new(endpoint, "auto", "terrace", "id", Secret::new("secret"));
        let urls = ArchiveUrls::new(ArchiveSigner::Bucket(presigner), None, 900);
        let key = ArchiveKey {
            digest: Sha256::of(b"a"),
            kind: ArchiveKind::Shasums,
        };
        for (until, lifetime) in [(1_010, 10), (5_000, 900), (1_000, 1), (0, 1)] {
            let url = urls.presigned(key, UnixTime(1_000), UnixTime(until));
            let expected = format!("&X-Amz-Expires={lifetime}&");
            assert!(url.unwrap().contains(&expected), "{until}");
        }
    }
}
