//! Calls the handler of each route.

use std::future::ready;
use std::pin::Pin;

use terrace_core::api::route::{
    AdminRoute, ApiRoute, BytesRoute, ListRoute, McpRoute, MirrorRoute, OAuthRoute, OciRoute,
    PageRoute, Route, TerraformRoute,
};
use terrace_core::http::method::Method;
use terrace_core::http::problem::Problem;
use terrace_core::model::version::RequestedVersion;
use terrace_core::oci::pushed::{PushedRequest, RepositoryPath};

use crate::archives::archive_transfers;
use crate::backup::{archive_inventory, facts};
use crate::context::Context;
use crate::copies::{failover, replication};
use crate::documentation::document;
use crate::host::{Host, Request};
use crate::listings::public_lists::List;
use crate::listings::{namespaces, public_lists, search};
use crate::oci::handlers::{manifests, session, uploads};
use crate::oci::{blobs, referrers};
use crate::operate::{audit, doctor, health};
use crate::outcome::{Call, Handled};
use crate::publish::keys;
use crate::pull::package as pull;
use crate::removal::handler as removal;
use crate::repair::reindex;
use crate::sign_in::{browser, callback, consent, start, token};
use crate::tokens::{exchange, handler as tokens, rules};
use crate::webhooks::handler as webhooks;
use crate::{check, documentation, erasure, mcp, pages, publish, status};

/// The future of a handler. Each is boxed: V8 compiles a function when it is first called, and without boxes
/// all handlers would be one function.
type Handling<'c, S> = Pin<Box<dyn Future<Output = Handled<S>> + 'c>>;

/// Calls the handler of a route.
pub(crate) fn dispatch<'c, P: Host, R: Request<Stream = P::Stream> + 'c>(
    ctx: &'c Context<'_, P>,
    route: Route,
    method: Method,
    call: Call,
    request: R,
) -> Handling<'c, P::Stream> {
    match route {
        Route::Health => Box::pin(health::health(ctx)),
        Route::Bytes(BytesRoute::Archive(path)) => match method {
            Method::Get => Box::pin(archive_transfers::send(ctx, path, request)),
            Method::Head => Box::pin(archive_transfers::describe(ctx, path)),
            Method::Put => Box::pin(archive_transfers::receive(ctx, path, request)),
            Method::Delete | Method::Patch | Method::Post => nowhere(),
        },
        Route::Bytes(BytesRoute::Pull(path)) => Box::pin(pull::send(ctx, call, path)),
        Route::OAuth(OAuthRoute::Exchange) => Box::pin(exchange::exchange(ctx, request)),
        Route::OAuth(OAuthRoute::Authorize) => Box::pin(start::start(ctx, request)),
        Route::OAuth(OAuthRoute::Callback) => Box::pin(callback::callback(ctx, request)),
        Route::OAuth(OAuthRoute::Consent) => Box::pin(consent::consent(ctx, request)),
        Route::OAuth(OAuthRoute::Token) => Box::pin(token::token(ctx, request)),
        Route::Oci(OciRoute::Base) => Box::pin(session::base(ctx, call, request)),
        Route::Oci(OciRoute::Token) => Box::pin(session::token(ctx, call)),
        Route::Oci(OciRoute::Pushed(pushed)) => dispatch_pushed(ctx, pushed, method, call, request),
        Route::Terraform(TerraformRoute::List(route)) => dispatch_list(ctx, route, call, request),
        Route::Api(route) => dispatch_api(ctx, route, method, call, request),
        Route::Mcp(McpRoute::Endpoint(_)) => Box::pin(mcp::endpoint(ctx, call, request)),
        Route::Mcp(McpRoute::Metadata(scope)) => {
            let reply = mcp::metadata::resource(ctx.config, &call.origin, scope);
            Box::pin(ready(Ok(reply.into())))
        }
        Route::Mcp(McpRoute::AuthorizationServer) => Box::pin(ready(
            mcp::metadata::authorization_server(ctx.config, &call.origin),
        )),
        Route::Admin(route) => dispatch_admin(ctx, route, method, call),
        Route::Page(PageRoute::SignIn) => match method {
            Method::Post => Box::pin(pages::enter(ctx, call, request)),
            _ if browser::is_by_token(ctx) => Box::pin(ready(pages::show(ctx, &call))),
            _ => Box::pin(browser::sign_in(ctx, call, request)),
        },
        Route::Page(PageRoute::SignOut) => match method {
            Method::Post => Box::pin(browser::sign_out(ctx, request)),
            _ => Box::pin(ready(browser::signed_out(ctx, &request))),
        },
        Route::Page(route) => Box::pin(pages::page(ctx, call, request, route)),
        // The read machine has already answered these.
        Route::Terraform(
            TerraformRoute::Discovery
            | TerraformRoute::ProviderVersions(_)
            | TerraformRoute::ProviderVersion(..)
            | TerraformRoute::ProviderDownload(..)
            | TerraformRoute::ModuleVersions(_)
            | TerraformRoute::ModuleDownload(..)
            | TerraformRoute::ModuleNewest(_)
            | TerraformRoute::Module(_)
            | TerraformRoute::ModuleVersion(..)
            | TerraformRoute::Provider(_),
        )
        | Route::Mirror(
            MirrorRoute::Home
            | MirrorRoute::Versions(_)
            | MirrorRoute::Packages(..)
            | MirrorRoute::OriginDiscovery(_)
            | MirrorRoute::OriginVersions(_),
        )
        | Route::Oci(OciRoute::Catalog | OciRoute::Generated(_)) => nowhere(),
    }
}

/// Calls the handler of a list of packages in the shape of the public registry.
fn dispatch_list<'c, P: Host, R: Request<Stream = P::Stream> + 'c>(
    ctx: &'c Context<'_, P>,
    route: ListRoute,
    call: Call,
    request: R,
) -> Handling<'c, P::Stream> {
    let list = match route {
        ListRoute::ModuleSearch => return Box::pin(public_lists::search(ctx, call, request)),
        ListRoute::Modules => List::modules(),
        ListRoute::ModulesOf(namespace) => List::modules_of(&namespace),
        ListRoute::ModulesNamed(namespace, name) => List::modules_named(&namespace, &name),
        ListRoute::Providers => List::providers(),
        ListRoute::ProvidersOf(namespace) => List::providers_of(&namespace),
    };
    Box::pin(public_lists::send(ctx, call, request, list))
}

/// Calls the handler of a route of the registry's own API.
fn dispatch_api<'c, P: Host, R: Request<Stream = P::Stream> + 'c>(
    ctx: &'c Context<'_, P>,
    route: ApiRoute,
    method: Method,
    call: Call,
    request: R,
) -> Handling<'c, P::Stream> {
    match route {
        ApiRoute::Search => Box::pin(search::search(ctx, call, request)),
        ApiRoute::Check => Box::pin(check::check(ctx, call, request)),
        ApiRoute::Token => match method {
            Method::Delete => Box::pin(tokens::revoke_presented(ctx, call)),
            _ => Box::pin(tokens::describe_presented(ctx, call)),
        },
        ApiRoute::Namespaces => Box::pin(namespaces::list(ctx, call, request)),
        ApiRoute::UsedBy(package) => Box::pin(namespaces::used_by(ctx, call, request, package)),
        ApiRoute::Namespace(owner) => Box::pin(namespaces::packages(ctx, call, request, owner)),
        ApiRoute::Document(package, RequestedVersion::Exact(version), path) => {
            let requested = document::RequestedDocument::new(package, version, path);
            Box::pin(document::send(ctx, call, request, requested))
        }
        // The read machine has already answered these.
        ApiRoute::Document(_, RequestedVersion::Latest, _)
        | ApiRoute::Package(_)
        | ApiRoute::Version(..)
        | ApiRoute::Navigation(..) => nowhere(),
    }
}

/// Calls the handler of a route of the admin API.
fn dispatch_admin<'c, P: Host>(
    ctx: &'c Context<'_, P>,
    route: AdminRoute,
    method: Method,
    call: Call,
) -> Handling<'c, P::Stream> {
    match route {
        AdminRoute::PublishProvider(address, version) => {
            Box::pin(publish::provider(ctx, call, address, version))
        }
        AdminRoute::PublishModule(address, version) => {
            Box::pin(publish::module(ctx, call, address, version))
        }
        AdminRoute::MirroredRelease(address, version) => match method {
            Method::Get => Box::pin(publish::describe_mirrored(ctx, address, version)),
            Method::Put => Box::pin(publish::mirrored(ctx, call, address, version)),
            _ => nowhere(),
        },
        AdminRoute::SigningKeys(namespace) => match method {
            Method::Get => Box::pin(keys::list(ctx, call, namespace)),
            Method::Put => Box::pin(keys::add(ctx, call, namespace)),
            _ => nowhere(),
        },
        AdminRoute::SigningKey(namespace, key_id) => match method {
            Method::Put => Box::pin(keys::change_status(ctx, call, namespace, key_id)),
            Method::Delete => Box::pin(keys::remove(ctx, namespace, key_id)),
            _ => nowhere(),
        },
        AdminRoute::Status(package, version) => match method {
            Method::Get => Box::pin(status::describe(ctx, package)),
            Method::Put => Box::pin(status::change(ctx, call, package, version)),
            _ => nowhere(),
        },
        AdminRoute::Documentation(package, version) => match method {
            Method::Get => Box::pin(documentation::describe(ctx, package, version)),
            Method::Put => Box::pin(documentation::add(ctx, call, package, version)),
            Method::Delete => Box::pin(documentation::remove(ctx, call, package, version)),
            _ => nowhere(),
        },
        AdminRoute::Documented => Box::pin(documentation::list(ctx, call)),
        AdminRoute::Audit => Box::pin(audit::list(ctx, call)),
        AdminRoute::Tokens => match method {
            Method::Get => Box::pin(tokens::list(ctx, call)),
            Method::Post => Box::pin(tokens::create(ctx, call)),
            _ => nowhere(),
        },
        AdminRoute::Token(id) => Box::pin(tokens::revoke(ctx, call, id)),
        AdminRoute::TokenRotation(id) => Box::pin(tokens::rotate(ctx, call, id)),
        AdminRoute::Webhooks => match method {
            Method::Get => Box::pin(webhooks::list(ctx, call)),
            Method::Post => Box::pin(webhooks::add(ctx, call)),
            _ => nowhere(),
        },
        AdminRoute::Webhook(id) => match method {
            Method::Get => Box::pin(webhooks::describe(ctx, id)),
            Method::Delete => Box::pin(webhooks::remove(ctx, id)),
            _ => nowhere(),
        },
        AdminRoute::WebhookTest(id) => Box::pin(webhooks::test(ctx, call, id)),
        AdminRoute::Rules => match method {
            Method::Get => Box::pin(rules::list(ctx, call)),
            Method::Post => Box::pin(rules::add(ctx, call)),
            _ => nowhere(),
        },
        AdminRoute::Rule(id) => Box::pin(rules::remove(ctx, call, id)),
        AdminRoute::Reindex => Box::pin(reindex::reindex(ctx, call)),
        AdminRoute::Doctor => Box::pin(doctor::examine(ctx, call)),
        AdminRoute::Verify => Box::pin(archive_inventory::verify(ctx, call)),
        AdminRoute::Facts => match method {
            Method::Get => Box::pin(facts::list(ctx, call)),
            Method::Put => Box::pin(facts::restore(ctx, call)),
            _ => nowhere(),
        },
        AdminRoute::StoredArchives => match method {
            Method::Get => Box::pin(archive_inventory::list(ctx, call)),
            Method::Post => Box::pin(archive_inventory::ask_for_copies(ctx, call)),
            _ => nowhere(),
        },
        AdminRoute::Garbage => Box::pin(removal::change(ctx, call)),
        AdminRoute::Failover => match method {
            Method::Get => Box::pin(failover::describe(ctx)),
            Method::Put => Box::pin(failover::change(ctx, call)),
            _ => nowhere(),
        },
        AdminRoute::Replication => Box::pin(replication::compare(ctx, call)),
        AdminRoute::Erasures => Box::pin(erasure::erase(ctx, call)),
    }
}

/// Calls the handler of a route below a repository that clients push to.
fn dispatch_pushed<'c, P: Host, R: Request<Stream = P::Stream> + 'c>(
    ctx: &'c Context<'_, P>,
    PushedRequest { repository, path }: PushedRequest,
    method: Method,
    call: Call,
    request: R,
) -> Handling<'c, P::Stream> {
    match (path, method) {
        (RepositoryPath::Referrers(subject), Method::Get | Method::Head) => {
            Box::pin(referrers::list(ctx, call, repository, subject))
        }
        (RepositoryPath::Uploads, Method::Post) => {
            Box::pin(uploads::begin(ctx, call, repository, request))
        }
        (RepositoryPath::Upload(id), Method::Get | Method::Head) => {
            Box::pin(uploads::describe(ctx, repository, id))
        }
        (RepositoryPath::Upload(id), Method::Patch) => {
            Box::pin(uploads::append(ctx, repository, id, request))
        }
        (RepositoryPath::Upload(id), Method::Put) => {
            Box::pin(uploads::complete(ctx, call, repository, id, request))
        }
        (RepositoryPath::Upload(id), Method::Delete) => {
            Box::pin(uploads::cancel(ctx, repository, id))
        }
        (RepositoryPath::Blob(digest), Method::Delete) => {
            Box::pin(blobs::delete(ctx, repository, digest))
        }
        (RepositoryPath::Manifest(name), Method::Put) => {
            Box::pin(manifests::push(ctx, call, repository, name, request))
        }
        (RepositoryPath::Manifest(name), Method::Delete) => {
            Box::pin(manifests::delete(ctx, repository, name))
        }
        // The read machine has already answered reads and rejected other methods.
        (
            RepositoryPath::Tags
            | RepositoryPath::Referrers(_)
            | RepositoryPath::Uploads
            | RepositoryPath::Upload(_)
            | RepositoryPath::Blob(_)
            | RepositoryPath::Manifest(_),
            _,
        ) => nowhere(),
    }
}

/// Returns a 404 response for a request without a handler.
fn nowhere<'c, S: 'c>() -> Handling<'c, S> {
    let problem = Problem::NotFound("this registry has no such path: check the URL".to_owned());
    Box::pin(ready(Err(problem.into())))
}
