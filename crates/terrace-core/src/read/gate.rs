//! Access control of reads.

use super::oci::is_oci;
use super::{
    CookieHeader, Decision, Lookup, ReadPlan, RequestHead, for_method, is_module_download,
};
use crate::api::endpoint::Action;
use crate::auth::access::{Caller, CredentialsError, Owner, Visibility};
use crate::config::Config;
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::oci::pushed::ProviderRepositories;
use crate::oci::unauthorized;
use crate::storage::key::IndexKey;
use terrace_base::time::UnixTime;

/// Lets a plan through, or answers a caller without access.
pub(super) fn decide<S>(
    plan: ReadPlan<S>,
    action: &'static Action,
    head: &RequestHead<'_>,
    config: &Config,
    now: impl FnOnce() -> UnixTime,
) -> Decision<S> {
    let method = action.method;
    let owner = match &plan {
        ReadPlan::Handle(_) | ReadPlan::Answer(_) => None,
        _ if !config.access.guards_reads() => None,
        ReadPlan::AnswerToReaders(package, _) => Some(Owner::of(package)),
        ReadPlan::Read(index) => Some(owner_of_index(&index.key, &config.oci_providers)),
    };
    let (caller, visibility) = match owner {
        None => (Caller::Anonymous, Visibility::Public),
        Some(owner) => match caller(head, action, config, now) {
            Err(bad) => {
                return Decision::InvalidCredentials(bad, invalid_credentials_reply(head, bad));
            }
            Ok(caller) => {
                let visibility = config.access.visibility(&caller, &owner);
                (caller, visibility)
            }
        },
    };
    match (plan, visibility) {
        (ReadPlan::Handle(route), _) => Decision::Handle(route, action),
        (_, Visibility::Unauthenticated) => {
            Decision::Answer(unauthorized_reply(head, &Problem::no_token()))
        }
        (ReadPlan::Answer(reply), _) => Decision::Answer(for_method(reply, method)),
        (ReadPlan::AnswerToReaders(_, reply), visibility) => {
            let reply = for_method(reply, method);
            let reply = match visibility {
                Visibility::Private => reply.private(),
                _ => reply,
            };
            match caller.token() {
                Some(token) => Decision::AnswerUnlessRevoked(token, reply),
                None => Decision::Answer(reply),
            }
        }
        (ReadPlan::Read(index), visibility) => Decision::Read(Box::new(Lookup {
            token: caller.token(),
            if_none_match: head.if_none_match.map(str::to_owned),
            ..Lookup::new(index, visibility, method)
        })),
    }
}

/// Identifies the caller. A token counts before the session of a browser.
#[inline(never)]
fn caller(
    head: &RequestHead<'_>,
    action: &Action,
    config: &Config,
    now: impl FnOnce() -> UnixTime,
) -> Result<Caller, CredentialsError> {
    match (head.authorization, head.cookies) {
        (None, CookieHeader::Read(cookies)) if action.reads_session => {
            Ok(config.caller_of_cookies(cookies, now))
        }
        (authorization, _) => config.access.caller(authorization, now),
    }
}

/// The answer to a request with invalid credentials.
pub fn invalid_credentials_reply<S>(head: &RequestHead<'_>, bad: CredentialsError) -> Reply<S> {
    unauthorized_reply(head, &Problem::from(bad))
}

/// The answer to a rejected request, in the form that the client of the path shows.
#[inline(never)]
pub fn unauthorized_reply<S>(head: &RequestHead<'_>, problem: &Problem) -> Reply<S> {
    let reply = match problem {
        Problem::Unauthorized(message) if is_oci(head.path) => {
            Problem::Oci(unauthorized(head.origin, message)).oci_reply()
        }
        problem if is_oci(head.path) => problem.oci_reply(),
        // Clients show the text of only this error to their users (clients.md 3.7).
        problem if is_module_download(head.path) => problem.text_reply(),
        problem => problem.reply(),
    };
    match head.method {
        "HEAD" => reply.into_head(),
        _ => reply,
    }
}

/// Returns the owner of the package or repository that an index describes.
#[inline(never)]
fn owner_of_index(key: &IndexKey, providers: &ProviderRepositories) -> Owner {
    match key {
        IndexKey::Catalog(owner) | IndexKey::Symbols(owner) => owner.clone(),
        IndexKey::Pushed(index) => providers.owner(index.repository()),
        // No route leads to an index without an owner.
        key => key
            .package()
            .map_or_else(|| Owner::of_namespace(""), Owner::of),
    }
}
