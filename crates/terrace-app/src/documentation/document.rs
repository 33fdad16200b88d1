//! Sends the texts of documentation.

use terrace_base::digest::Sha256;
use terrace_core::auth::access::{Owner, Visibility};
use terrace_core::documentation::{DocumentPath, DocumentText, Member};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{Body, CachePolicy, Reply};
use terrace_core::index::about::{About, AboutDocumentation};
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::storage::index_document::short_etag;
use terrace_core::storage::key::IndexKey;
use terrace_core::upstream::pull::blocked;

use crate::access::auth;
use crate::context::Context;
use crate::documents::documentation;
use crate::failure::Failure;
use crate::host::{Host, Request};
use crate::listing;
use crate::outcome::{Call, Handled};
use crate::read::reader;
use crate::read::reader::IndexText;

/// The document that a path names.
#[derive(Debug)]
pub(crate) struct RequestedDocument {
    pub(crate) package: Package,
    pub(crate) version: Version,
    pub(crate) path: DocumentPath,
}

/// Sends a document: its version's index says where the text is, and one ranged read returns it. If its archive is missing
/// or damaged, or the index is not valid, the index may be outdated, so it is built from the facts again.
pub(crate) async fn send<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
    requested: RequestedDocument,
) -> Handled<P::Stream> {
    let requested = requested.under(&OwnHosts::new(&call.origin, &ctx.config.hostnames));
    let owner = Owner::of(&requested.package);
    let key = IndexKey::About(requested.package.clone(), requested.version.clone());
    let ([key], visibility) = auth::readable_keys(ctx, &call.caller, &owner, [key])?;
    requested.check_not_blocked(ctx, visibility)?;
    let index = reader::text(ctx, &key).await?;
    let index = index.ok_or_else(|| requested.missing_version())?;
    let etag = short_etag(&format!("{} {}", index.etag, requested.path));
    let place = requested.place(&index)?;
    let reply = match listing::unchanged(&request, &etag).filter(|_| place.is_some()) {
        Some(unchanged) => unchanged,
        None => {
            let body = match contents_at(ctx, &requested, place).await? {
                Some(body) => Some(body),
                None => {
                    let place = replaced_place(ctx, &requested, &key, &index.text).await?;
                    contents_at(ctx, &requested, place).await?
                }
            };
            let body = body.ok_or_else(|| requested.missing_text())?;
            requested.reply(body, etag)
        }
    };
    Ok(match visibility {
        Visibility::Private => reply.private(),
        _ => reply,
    }
    .into())
}

/// The place of a text.
enum Place {
    /// The index has it.
    Here(String),
    /// The archive with this digest has it, at a place behind its head of this length in bytes.
    Stored(Sha256, u64, Member),
}

/// Returns the text of a document of this documentation. If its archive is missing or damaged, the index that described
/// it may be outdated, so it is built from the facts again.
pub(crate) async fn text_in<P: Host>(
    ctx: &Context<'_, P>,
    requested: &RequestedDocument,
    documentation: Option<&AboutDocumentation>,
) -> Result<String, Failure> {
    if let Some(text) = text_at(ctx, Some(requested.place_in(documentation)?)).await? {
        return Ok(text);
    }
    let key = IndexKey::About(requested.package.clone(), requested.version.clone());
    let stale = reader::stored(ctx, &key).await?;
    let stale = stale.map(|index| index.text).unwrap_or_default();
    let place = replaced_place(ctx, requested, &key, &stale).await?;
    let found = text_at(ctx, place).await?;
    found.ok_or_else(|| requested.missing_text().into())
}

/// Returns the place that the index names once it is built from the facts again; `None` if it is still the same.
async fn replaced_place<P: Host>(
    ctx: &Context<'_, P>,
    requested: &RequestedDocument,
    key: &IndexKey,
    stale: &str,
) -> Result<Option<Place>, Failure> {
    match &reader::replaced(ctx, key, stale).await? {
        Some(rebuilt) => Ok(requested.place(rebuilt)?),
        None => Ok(None),
    }
}

/// Returns the document at a place: a file as it is, or a text; `None` if it is missing or damaged there.
async fn contents_at<P: Host>(
    ctx: &Context<'_, P>,
    requested: &RequestedDocument,
    place: Option<Place>,
) -> Result<Option<Body<P::Stream>>, Failure> {
    Ok(match (&requested.path, place) {
        (DocumentPath::File(_), Some(Place::Stored(archive, head_length, member))) => {
            let file = documentation::file(ctx, archive, head_length, member).await?;
            file.map(Body::Stream)
        }
        (_, place) => text_at(ctx, place).await?.map(Body::Text),
    })
}

/// Returns the text at a place, with replacements for bytes that are not UTF-8; `None` if it is missing or damaged there.
async fn text_at<P: Host>(
    ctx: &Context<'_, P>,
    place: Option<Place>,
) -> Result<Option<String>, Failure> {
    let (archive, head_length, member) = match place {
        None => return Ok(None),
        Some(Place::Here(text)) => return Ok(Some(text)),
        Some(Place::Stored(archive, head_length, member)) => (archive, head_length, member),
    };
    let bytes = documentation::page(ctx, archive, head_length, member).await?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

impl RequestedDocument {
    /// Returns the document at `path` in a version.
    pub(crate) fn new(package: Package, version: Version, path: DocumentPath) -> Self {
        Self {
            package,
            version,
            path,
        }
    }

    /// Returns the document of a hosted package in place of a mirrored one under the registry's own hostname.
    fn under(self, own: &OwnHosts<'_>) -> Self {
        Self {
            package: own.hosted(self.package),
            ..self
        }
    }

    /// Rejects a mirrored version that the operator blocks, unless its owner is hidden from the caller.
    fn check_not_blocked<P: Host>(
        &self,
        ctx: &Context<'_, P>,
        visibility: Visibility,
    ) -> Result<(), Problem> {
        match &self.package {
            Package::Mirrored(address)
                if visibility != Visibility::Hidden
                    && ctx.config.pull.blocks(address, &self.version) =>
            {
                Err(blocked(address, &self.version))
            }
            _ => Ok(()),
        }
    }

    /// Returns the place of the text; `None` if the index is not valid.
    ///
    /// # Errors
    /// If the version has no such document.
    fn place(&self, index: &IndexText) -> Result<Option<Place>, Problem> {
        let Ok(About { documentation, .. }) = serde_json::from_slice(index.text.as_bytes()) else {
            return Ok(None);
        };
        self.place_in(documentation.as_ref()).map(Some)
    }

    /// Returns the place of the text in this documentation.
    ///
    /// # Errors
    /// If the version has no such document.
    fn place_in(&self, documentation: Option<&AboutDocumentation>) -> Result<Place, Problem> {
        let documentation = documentation.ok_or_else(|| self.missing_document())?;
        match documentation.head.document(&self.path) {
            Some(DocumentText::Here(text)) => Ok(Place::Here(text.to_owned())),
            Some(DocumentText::At(member)) => {
                let AboutDocumentation {
                    archive,
                    head_length,
                    ..
                } = *documentation;
                Ok(Place::Stored(archive, head_length, member))
            }
            None => Err(self.missing_document()),
        }
    }

    /// Returns the reply with the document. It is unchecked, so a browser runs nothing in it.
    fn reply<S>(&self, body: Body<S>, etag: String) -> Reply<S> {
        Reply::new(200, CachePolicy::Revalidate)
            .with("etag", etag)
            .with_stored_type(self.path.content_type())
            .with_body(body)
    }

    fn missing_version(&self) -> Problem {
        let kind = self.package.kind();
        let (address, version) = (self.package.address(), &self.version);
        Problem::NotFound(format!(
            "this registry has no version {version} of {kind} {address}"
        ))
    }

    pub(crate) fn missing_document(&self) -> Problem {
        let (address, version, path) = (self.package.address(), &self.version, &self.path);
        Problem::NotFound(format!(
            "version {version} of {address} has no document {path}: the path without it lists all documents"
        ))
    }

    fn missing_text(&self) -> Problem {
        let (address, version, path) = (self.package.address(), &self.version, &self.path);
        Problem::NotFound(format!(
            "the text of {path} of version {version} of {address} is missing or damaged in storage: publish the documentation again (terrace docs add)"
        ))
    }
}
