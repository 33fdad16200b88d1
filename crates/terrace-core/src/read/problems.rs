//! Errors of reads, in the forms of their clients.

use super::{Lookup, Projection, for_method};
use crate::http::method::Method;
use crate::http::oci_error::{OciCode, OciError};
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::model::oci::Digest;
use crate::model::package::Package;
use crate::storage::key::{IndexKey, PushedIndex};
use crate::upstream::pull::blocked_because;

impl Lookup {
    /// Returns the error for a version that is revoked, or for a subject that the operator blocks.
    #[inline(never)]
    pub(super) fn refusal_problem(&self, reason: &str, is_blocked: bool) -> Problem {
        let subject = match &self.key {
            IndexKey::Version(package, version) | IndexKey::Tag(package, version) => {
                format!("{} {version}", package.address())
            }
            IndexKey::Content(..) | IndexKey::Pushed(_) => "this version".to_owned(),
            key => key.package().map(Package::address).unwrap_or_default(),
        };
        match is_blocked {
            true => blocked_because(&subject, reason),
            false => Problem::Gone(format!("{subject} is revoked: {reason}")),
        }
    }

    /// Returns the answer if nothing of this name exists.
    pub fn not_found<S>(&self) -> Reply<S> {
        self.problem(&self.missing())
    }

    /// Returns the pushed content that does not exist, if the client reads a reason: not of `HEAD`. Content that is hidden from it
    /// is treated as if its repository did not exist.
    pub fn missed_content(&self) -> Option<&PushedIndex> {
        match &self.key {
            IndexKey::Pushed(index) if self.method == Method::Get => Some(index),
            _ => None,
        }
    }

    /// Returns the answer if pushed content was erased. It is a 404, as for other missing content, because clients look for a
    /// blob before they push it.
    pub fn erased<S>(&self, message: String) -> Reply<S> {
        let code = match self.projection {
            Projection::Blob => OciCode::BlobUnknown,
            _ => OciCode::ManifestUnknown,
        };
        self.problem(&Problem::Oci(OciError::new(code, message)))
    }

    /// Returns the error if nothing of this name exists.
    #[inline(never)]
    pub(super) fn missing(&self) -> Problem {
        let kind = Package::kind;
        let message = match self.requested_key.as_ref().unwrap_or(&self.key) {
            IndexKey::Versions(package)
            | IndexKey::MirrorVersions(package)
            | IndexKey::Overview(package)
            | IndexKey::Tags(package) => {
                let (kind, address) = (kind(package), package.address());
                format!("this registry has no {kind} {address}")
            }
            IndexKey::Version(package, version)
            | IndexKey::About(package, version)
            | IndexKey::Tag(package, version) => {
                let (kind, address) = (kind(package), package.address());
                format!("this registry has no version {version} of {kind} {address}")
            }
            IndexKey::Content(package, digest) => {
                let (kind, address) = (kind(package), package.address());
                let digest = Digest::Sha256(*digest);
                format!("{kind} {address} has no content with the digest {digest}")
            }
            IndexKey::Catalog(owner) | IndexKey::Symbols(owner) => {
                format!("this registry has no packages of {owner}")
            }
            IndexKey::Revocations
            | IndexKey::Rules
            | IndexKey::Failover
            | IndexKey::FailoverCopy
            | IndexKey::MergedCatalog(_) => {
                "this registry has no such path: check the URL".to_owned()
            }
            IndexKey::Pushed(index) => {
                let repository = index.repository();
                match index {
                    PushedIndex::Tags(_) => format!("there is no repository {repository}"),
                    PushedIndex::Tag(_, tag) => format!("{repository} has no tag {tag}"),
                    PushedIndex::Manifest(_, digest) => {
                        format!("{repository} has no manifest {digest}")
                    }
                    PushedIndex::Blob(_, digest) => format!("{repository} has no blob {digest}"),
                }
            }
        };
        match &self.projection {
            Projection::Tags(..) => Problem::Oci(OciError::new(OciCode::NameUnknown, message)),
            Projection::Manifest => Problem::Oci(OciError::new(OciCode::ManifestUnknown, message)),
            Projection::Blob => Problem::Oci(OciError::new(OciCode::BlobUnknown, message)),
            _ => Problem::NotFound(message),
        }
    }

    /// Returns the answer for a problem, in the form that the client of this request shows.
    #[inline(never)]
    pub fn problem<S>(&self, problem: &Problem) -> Reply<S> {
        let reply = match self.projection {
            Projection::ModuleDownload(_) | Projection::NewestModule(_) => problem.text_reply(),
            Projection::Tags(..) | Projection::Manifest | Projection::Blob => problem.oci_reply(),
            _ => problem.reply(),
        };
        for_method(reply, self.method)
    }
}
