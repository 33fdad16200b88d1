//! The catalogue, as a caller may see it.

use terrace_core::auth::access::{Caller, Owner, Visibility, network};
use terrace_core::http::problem::Problem;
use terrace_core::index::catalog::{CatalogText, MergedHeader};
use terrace_core::limits;
use terrace_core::storage::key::IndexKey;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Host};
use crate::services::catalog::merged;
use crate::services::reader;
use crate::services::reader::IndexText;

/// The texts of a catalogue.
#[derive(Debug)]
pub(crate) enum Catalog {
    /// All owners, in parts.
    Merged(Vec<IndexText>),
    /// One owner.
    Owned {
        /// The packages; `None` if the owner has none.
        packages: Option<IndexText>,
        /// The symbols; `None` if the owner has none.
        symbols: Option<IndexText>,
    },
}

impl Catalog {
    /// Returns the sections of the texts.
    pub(crate) fn texts(&self) -> Vec<CatalogText<'_>> {
        match self {
            Self::Merged(parts) => {
                let parts = parts.iter().filter_map(|it| CatalogText::of_part(&it.text));
                parts.map(|(_, text)| text).collect()
            }
            Self::Owned { packages, symbols } => vec![CatalogText {
                packages: packages.as_ref().map_or("", |it| it.text.as_str()),
                symbols: symbols.as_ref().map_or("", |it| it.text.as_str()),
            }],
        }
    }
}

/// Returns whether a caller may see packages of an owner.
pub(crate) fn sees<P: Host>(ctx: &Context<'_, P>, caller: &Caller, owner: &Owner) -> bool {
    match ctx.config.access.visibility(caller, owner) {
        Visibility::Public | Visibility::Private => true,
        Visibility::Hidden | Visibility::Unauthenticated => false,
    }
}

/// Reads the catalogue of all owners: one operation, or a second one if it has several parts. An anonymous caller must not
/// have sent too many such requests.
pub(crate) async fn merged<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
) -> Result<Catalog, Failure> {
    if *caller == Caller::Anonymous {
        if ctx.config.access.guards_all_reads() {
            return Err(Problem::no_token().into());
        }
        check_rate(ctx).await?;
    }
    // A single value is read as bytes; several in one operation would take three times the CPU of a search.
    let first = reader::text(ctx, &IndexKey::MergedCatalog(1)).await?;
    merged::refresh_if_due(ctx);
    let header = first.as_ref().and_then(|it| CatalogText::of_part(&it.text));
    let count = header.map_or(0, |(MergedHeader { parts, .. }, _)| parts);
    let mut parts = Vec::from_iter(first);
    let keys: Vec<IndexKey> = (2..=count).map(IndexKey::MergedCatalog).collect();
    if !keys.is_empty() {
        let keys: Vec<&IndexKey> = keys.iter().take(limits::CATALOG_PARTS).collect();
        parts.extend(reader::texts(ctx, &keys).await?.into_iter().flatten());
    }
    Ok(Catalog::Merged(parts))
}

/// Reads the catalogue of an owner: one operation. For an owner that the caller may not see, it is empty.
pub(crate) async fn of_owner<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    owner: &Owner,
) -> Result<Catalog, Failure> {
    let packages = IndexKey::Catalog(owner.clone());
    let symbols = IndexKey::Symbols(owner.clone());
    let keys = match ctx.config.access.visibility(caller, owner) {
        Visibility::Unauthenticated => return Err(Problem::no_token().into()),
        Visibility::Hidden => [packages.hidden(), symbols.hidden()],
        Visibility::Public | Visibility::Private => [packages, symbols],
    };
    let found = reader::texts(ctx, &keys.each_ref()).await?;
    let mut found = found.into_iter();
    Ok(Catalog::Owned {
        packages: found.next().flatten(),
        symbols: found.next().flatten(),
    })
}

/// Counts an anonymous request that reads the whole catalogue.
async fn check_rate<P: Host>(ctx: &Context<'_, P>) -> Result<(), Failure> {
    let address = ctx.client_address.as_str();
    if address.is_empty() {
        return Ok(());
    }
    let now = ctx.host.clock().now();
    let count = ctx.host.cache().searches().borrow_mut().count(address, now);
    let is_over = count > ctx.config.searches_a_minute
        || ctx.host.is_one_search_too_many(&network(address)).await;
    if is_over {
        return Err(Problem::TooManySearches.into());
    }
    Ok(())
}
