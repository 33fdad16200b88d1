//! Where archives are fetched from and sent to: time-limited URLs that need no credential.

use crate::limits;
use crate::model::oci::Digest;
use crate::model::package::PulledPackage;
use crate::storage::key::BytesKey;
use crate::storage::signed_path::PathSigner;
use terrace_base::time::UnixTime;
use terrace_presign::{Presigner, SignedMethod};

/// Makes the URLs of archives, in the mode that the deployment has keys for.
#[derive(Debug, Clone)]
pub struct ArchiveUrls {
    signer: ArchiveSigner,
    /// Signs the URLs of what is not stored yet, which the Worker answers in either mode.
    paths: Option<PathSigner>,
    lifetime: u32,
}

/// Who answers an archive URL.
#[derive(Debug, Clone)]
pub enum ArchiveSigner {
    /// The bucket itself, through its S3 API.
    Bucket(Presigner),
    /// The Worker, which streams from its bucket binding.
    Worker(PathSigner),
}

/// How to send one archive: a PUT of its bytes to `url` with exactly these headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// Where to.
    pub url: String,
    /// Header names in lower case, with their values.
    pub headers: Vec<(&'static str, String)>,
}

/// A header that says whose the source of a copy is, so that there is none with it. Of a PUT it says
/// nothing. With a header `x-amz-copy-source` more, which nobody has signed, stores that do not look
/// whether all headers are signed would copy any object of the bucket to where an archive may be sent
/// (<https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html>).
const NO_COPY: &str = "x-amz-source-expected-bucket-owner";

impl ArchiveUrls {
    /// URLs by `signer`, of what is not stored yet by `paths`; downloads are good for `lifetime`
    /// seconds.
    pub fn new(signer: ArchiveSigner, paths: Option<PathSigner>, lifetime: u32) -> Self {
        Self {
            signer,
            paths,
            lifetime,
        }
    }

    /// The URL that a package, which its origin offers and nobody has asked for yet, is pulled by.
    pub fn pull(&self, origin: &str, package: PulledPackage, now: UnixTime) -> Option<String> {
        let signer = self.paths.as_ref()?;
        Some(format!(
            "{origin}{}",
            signer.pull(&package, now.plus(self.lifetime))
        ))
    }

    /// The signer of the paths that packages are pulled by.
    pub fn pull_signer(&self) -> Option<&PathSigner> {
        self.paths.as_ref()
    }

    /// The URL to fetch an object from. `origin` is the registry's own, as in `https://host`.
    pub fn download(&self, origin: &str, object: impl Into<BytesKey>, now: UnixTime) -> String {
        let object = object.into();
        match &self.signer {
            ArchiveSigner::Bucket(presigner) => presigner.presign(
                SignedMethod::Get,
                &object.to_string(),
                &[],
                now,
                self.lifetime,
            ),
            ArchiveSigner::Worker(signer) => {
                let path = signer.download(object, now.plus(self.lifetime));
                format!("{origin}{path}")
            }
        }
    }

    /// How to send an object, which has `size` bytes, to where it is kept or where it comes in. The bucket
    /// is told the digest, so it refuses other bytes, and to create only, so it never replaces what
    /// something refers to; and not to copy, which is asked for by a header more. A SHA-512 it is not told:
    /// what refers to such an object has to compare it.
    pub fn upload(&self, origin: &str, object: BytesKey, size: u64, now: UnixTime) -> Upload {
        let content_type = object.content_type().to_owned();
        match &self.signer {
            ArchiveSigner::Bucket(presigner) => {
                let mut headers = vec![
                    ("content-type", content_type),
                    ("if-none-match", "*".to_owned()),
                ];
                if let Digest::Sha256(digest) = object.digest() {
                    headers.push(("x-amz-checksum-sha256", digest.to_base64()));
                }
                headers.push((NO_COPY, "none".to_owned()));
                let signed: Vec<(&str, &str)> = headers
                    .iter()
                    .map(|(name, value)| (*name, value.as_str()))
                    .collect();
                let key = object.to_string();
                let lifetime = limits::UPLOAD_LIFETIME_SECONDS;
                let url = presigner.presign(SignedMethod::Put, &key, &signed, now, lifetime);
                Upload { url, headers }
            }
            ArchiveSigner::Worker(signer) => {
                let expires = now.plus(limits::UPLOAD_LIFETIME_SECONDS);
                let path = signer.upload(object, size, expires);
                Upload {
                    url: format!("{origin}{path}"),
                    headers: vec![("content-type", content_type)],
                }
            }
        }
    }

    /// The largest archive that can be sent, in bytes, and why no larger.
    pub fn upload_limit(&self) -> (u64, &'static str) {
        match &self.signer {
            ArchiveSigner::Bucket(_) => (limits::ARCHIVE_BYTES, "R2 takes no more in one PUT"),
            ArchiveSigner::Worker(_) => (
                limits::WORKER_BODY_BYTES,
                "without S3 keys uploads pass through the Worker, and Cloudflare takes no larger \
                 request body; set the TERRACE_S3_… variables to send archives straight to R2",
            ),
        }
    }

    /// The signer of Worker-signed paths, when that is the mode.
    pub fn path_signer(&self) -> Option<&PathSigner> {
        match &self.signer {
            ArchiveSigner::Worker(signer) => Some(signer),
            ArchiveSigner::Bucket(_) => None,
        }
    }
}
