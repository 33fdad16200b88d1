//! The catalogue, as a caller may see it.

pub(crate) mod namespaces;
pub(crate) mod public_lists;
pub(crate) mod search;

use terrace_core::api::details::ListedPackage;
use terrace_core::auth::access::{Caller, Owner, Visibility, network};
use terrace_core::http::problem::Problem;
use terrace_core::index::catalog::{CatalogText, MergedPart};
use terrace_core::limits;
use terrace_core::storage::key::IndexKey;

use crate::access::auth;
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Clock as _, Host, StoreError};
use crate::index::catalog::merged;
use crate::read::reader;
use crate::read::reader::IndexText;

/// The texts of a catalogue.
#[derive(Debug)]
pub(crate) enum Catalog {
    /// All owners.
    Merged {
        /// The parts as they are stored.
        parts: Vec<IndexText>,
        /// The parts that have the packages in their place, for a caller who may just have published; usually none.
        live: Vec<IndexText>,
    },
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
            Self::Merged { parts, live } => {
                let stored = texts_of(parts).map(|text| match live.is_empty() {
                    true => text,
                    false => CatalogText {
                        symbols: text.symbols,
                        ..CatalogText::default()
                    },
                });
                texts_of(live).chain(stored).collect()
            }
            Self::Owned { packages, symbols } => {
                let part = packages.as_ref().and_then(|it| MergedPart::parse(&it.text));
                let symbols = symbols.as_ref().map_or("", |it| it.text.as_str());
                let text = part.map_or_else(CatalogText::default, |part| part.text);
                vec![CatalogText { symbols, ..text }]
            }
        }
    }
}

impl Catalog {
    /// Returns the visible packages of a merged catalogue that were published last, the newest first.
    pub(crate) fn recent(&self, is_visible: &dyn Fn(&Owner) -> bool) -> Vec<ListedPackage> {
        let Self::Merged { parts, live } = self else {
            return Vec::new();
        };
        let first = live.first().or(parts.first());
        let first = first.and_then(|it| MergedPart::parse(&it.text));
        let lines = first.iter().flat_map(MergedPart::newest);
        let visible = lines.filter(|line| is_visible(&Owner::of(&line.package)));
        visible.map(|line| ListedPackage::from(&line)).collect()
    }
}

fn texts_of(parts: &[IndexText]) -> impl Iterator<Item = CatalogText<'_>> {
    let parsed = parts.iter().filter_map(|it| MergedPart::parse(&it.text));
    parsed.map(|part| part.text)
}

/// Returns whether only callers with access may see packages of an owner.
pub(crate) fn is_private<P: Host>(ctx: &Context<'_, P>, caller: &Caller, owner: &Owner) -> bool {
    ctx.config.access.visibility(caller, owner) == Visibility::Private
}

/// Returns whether a caller may see packages of an owner.
pub(crate) fn sees<P: Host>(ctx: &Context<'_, P>, caller: &Caller, owner: &Owner) -> bool {
    match ctx.config.access.visibility(caller, owner) {
        Visibility::Public | Visibility::Private => true,
        Visibility::Hidden | Visibility::Unauthenticated => false,
    }
}

/// Reads the catalogue for a search: that of an owner, or of all owners. Anonymous searches are limited.
pub(crate) async fn searched<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    owner: Option<&Owner>,
) -> Result<Catalog, Failure> {
    match owner {
        None => merged(ctx, caller).await,
        Some(owner) => {
            let keys = keys_of_owner(ctx, caller, owner)?;
            check_rate(ctx, caller).await?;
            owned(ctx, keys).await
        }
    }
}

/// Checks that a caller may see anything.
pub(crate) fn ensure_may_search<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
) -> Result<(), Problem> {
    match *caller == Caller::Anonymous && ctx.config.access.guards_all_reads() {
        true => Err(Problem::no_token()),
        false => Ok(()),
    }
}

/// Reads the catalogue of all owners. Anonymous requests for it are limited, as searches are.
pub(crate) async fn merged<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
) -> Result<Catalog, Failure> {
    ensure_may_search(ctx, caller)?;
    check_rate(ctx, caller).await?;
    let stored = stored_parts(ctx).await?;
    merged::refresh_if_due(ctx);
    let Some(parts) = stored else {
        let parts = merged::after_miss(ctx).await?.into_iter();
        let parts = parts.map(|(_, document)| document.into()).collect();
        let live = Vec::new();
        return Ok(Catalog::Merged { parts, live });
    };
    let live = match caller.may_publish_any() {
        true => {
            let bytes = texts_of(&parts).map(|text| text.packages.len()).sum();
            // What KV has is better than an error.
            let live = merged::live(ctx, bytes).await.unwrap_or_else(|failure| {
                drop(ctx.report(failure));
                None
            });
            live.unwrap_or_default()
        }
        false => Vec::new(),
    };
    let live = live.into_iter().map(IndexText::from).collect();
    Ok(Catalog::Merged { parts, live })
}

/// Returns the parts of the merged catalogue, read by one operation, or two if it has several; `None` if one is absent or
/// damaged.
async fn stored_parts<P: Host>(ctx: &Context<'_, P>) -> Result<Option<Vec<IndexText>>, StoreError> {
    // A single value is read as bytes; several in one operation would take three times the CPU of a search.
    let first = reader::stored(ctx, &IndexKey::MergedCatalog(1)).await?;
    let Some(first) = first else { return Ok(None) };
    let Some(MergedPart { parts: count, .. }) = MergedPart::parse(&first.text) else {
        return Ok(None);
    };
    let mut parts = vec![Some(first)];
    let keys: Vec<IndexKey> = (2..=count).map(IndexKey::MergedCatalog).collect();
    if !keys.is_empty() {
        let keys: Vec<&IndexKey> = keys.iter().take(limits::CATALOG_PARTS).collect();
        parts.extend(reader::all_stored(ctx, &keys).await?);
    }
    Ok(parts.into_iter().collect())
}

/// Reads the catalogue of an owner: one operation. For an owner that the caller may not see, it is empty.
pub(crate) async fn of_owner<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    owner: &Owner,
) -> Result<Catalog, Failure> {
    owned(ctx, keys_of_owner(ctx, caller, owner)?).await
}

fn keys_of_owner<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    owner: &Owner,
) -> Result<[IndexKey; 2], Problem> {
    let keys = [
        IndexKey::Catalog(owner.clone()),
        IndexKey::Symbols(owner.clone()),
    ];
    auth::readable_keys(ctx, caller, owner, keys).map(|(keys, _)| keys)
}

async fn owned<P: Host>(ctx: &Context<'_, P>, keys: [IndexKey; 2]) -> Result<Catalog, Failure> {
    let found = reader::texts(ctx, &keys.each_ref()).await?;
    let mut found = found.into_iter();
    Ok(Catalog::Owned {
        packages: found.next().flatten(),
        symbols: found.next().flatten(),
    })
}

/// Counts an anonymous search.
///
/// # Errors
/// If too many came from its address or network within a minute.
pub(crate) async fn check_rate<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
) -> Result<(), Failure> {
    let address = ctx.client_address.as_str();
    if *caller != Caller::Anonymous || address.is_empty() {
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
