//! Search in the catalogue.

use terrace_base::untrusted::{QUOTED_CHARS, line};
use terrace_core::api::details::{
    Highlights, ListedPackage, PackageName, SearchPage, SearchResult, document_path,
};
use terrace_core::auth::access::{Caller, Owner};
use terrace_core::documentation::DocumentPath;
use terrace_core::http::problem::Problem;
use terrace_core::index::catalog::{CatalogLine, CatalogSymbol};
use terrace_core::search::{Match, Query, Search, contains, pieces};

use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Host, Request};
use crate::outcome::{Call, Handled};
use crate::{listing, listings};

/// Answers a search.
pub(crate) async fn search<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    request: R,
) -> Handled<P::Stream> {
    let page = page(ctx, &call).await?;
    Ok(listing::reply(&call.caller, &request, &page).into())
}

/// Returns the results of the search that the query of a request describes.
pub(crate) async fn page<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
) -> Result<SearchPage, Failure> {
    let search = Search {
        query: query(call)?,
        kind: listing::parsed(call, "kind")?,
        system: None,
        after: listing::parsed(call, "after")?,
        offset: 0,
        limit: listing::limit(call)?,
    };
    let owner = namespace(call)?;
    found(ctx, &call.caller, &search, owner.as_ref()).await
}

/// Returns the results of a search that a caller may see: of an owner, or of all.
pub(crate) async fn found<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    search: &Search,
    owner: Option<&Owner>,
) -> Result<SearchPage, Failure> {
    let catalog = listings::searched(ctx, caller, owner).await?;
    let is_visible = |owner: &Owner| listings::sees(ctx, caller, owner);
    let found = search.run(&catalog.texts(), &is_visible);
    let results = found.matches.into_iter();
    Ok(SearchPage {
        results: results.map(|it| result(it, &found.query)).collect(),
        did_you_mean: found.meant.as_ref().map(ToString::to_string),
        next: found.next.as_ref().map(ToString::to_string),
    })
}

/// Returns the words to find.
pub(crate) fn query(call: &Call) -> Result<Query, Failure> {
    let text = listing::parameter(call, "q")?.unwrap_or_default();
    // HashiCorp's MCP server puts a query into quotes.
    let query = text.trim_matches('\'').parse::<Query>();
    Ok(query.map_err(|error| Problem::BadRequest(error.to_string()))?)
}

/// Returns the owner in the parameter `namespace`.
pub(crate) fn namespace(call: &Call) -> Result<Option<Owner>, Failure> {
    let Some(text) = listing::parameter(call, "namespace")? else {
        return Ok(None);
    };
    let owner = Owner::parse_key(&text.to_ascii_lowercase());
    Ok(Some(owner.ok_or_else(|| {
        let text = line(&text).at_most(QUOTED_CHARS);
        Problem::BadRequest(format!(
            "the parameter namespace is {text}: it must be a namespace, or a hostname and a namespace, such as registry.example.com/acme"
        ))
    })?))
}

fn result(found: Match, query: &Query) -> SearchResult {
    match found {
        Match::Package(line, words) => package(&line, words, query),
        Match::Symbol(found) => symbol(&found, query),
    }
}

fn package(line: &CatalogLine, words: Vec<String>, query: &Query) -> SearchResult {
    let package = ListedPackage::from(line);
    let has_a_word = |text: &str| query.words().iter().any(|word| contains(text, word));
    SearchResult::Package {
        highlights: Highlights {
            name: pieces(&package.package.address, query),
            description: match has_a_word(&line.description) {
                true => pieces(&line.description, query),
                false => Vec::new(),
            },
        },
        words,
        package,
    }
}

fn symbol(symbol: &CatalogSymbol, query: &Query) -> SearchResult {
    let CatalogSymbol {
        kind,
        name,
        package,
        version,
        page,
    } = symbol;
    SearchResult::Symbol {
        kind: *kind,
        name: name.clone(),
        provider: PackageName::from(package),
        version: version.clone(),
        path: page
            .as_ref()
            .map(|page| document_path(DocumentPath::of_page(*kind, page), package, version)),
        highlights: Highlights {
            name: pieces(name, query),
            description: Vec::new(),
        },
    }
}
