//! Who gets to see what is read.

use super::oci::is_oci;
use super::plan::Plan;
use super::{Asked, Begun, Lookup, is_module_download, sized};
use crate::api::endpoint::Action;
use crate::auth::access::{Caller, CredentialsError, Owner, Sight};
use crate::config::Config;
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::oci::pushed::ProviderRepositories;
use crate::oci::unauthorized;
use crate::storage::key::IndexKey;
use terrace_base::time::UnixTime;

/// Lets a plan through, or answers what those get who have no access.
pub(super) fn pass<S>(
    plan: Plan<S>,
    action: &'static Action,
    asked: &Asked<'_>,
    config: &Config,
    now: impl FnOnce() -> UnixTime,
) -> Begun<S> {
    let method = action.method;
    let owner = match &plan {
        Plan::Other(_) | Plan::Answer(_) => None,
        _ if !config.access.guards_reads() => None,
        Plan::AnswerFor(package, _) => Some(Owner::of(package)),
        Plan::Read(index) => Some(owner_of(&index.key, &config.oci_providers)),
    };
    let (caller, sight) = match owner {
        None => (Caller::Anonymous, Sight::Public),
        Some(owner) => match config.access.caller(asked.authorization, now) {
            Err(bad) => return Begun::Refused(bad, refused(asked, bad)),
            Ok(caller) => {
                let sight = config.access.sight(&caller, &owner);
                (caller, sight)
            }
        },
    };
    match (plan, sight) {
        (Plan::Other(route), _) => Begun::Other(route, action),
        (_, Sight::Closed) => Begun::Answer(closed(asked)),
        (Plan::Answer(reply), _) => Begun::Answer(sized(reply, method)),
        (Plan::AnswerFor(_, reply), sight) => {
            let reply = sized(reply, method);
            let reply = match sight {
                Sight::Private => reply.made_private(),
                _ => reply,
            };
            match caller.token() {
                Some(token) => Begun::AnswerTo(token, reply),
                None => Begun::Answer(reply),
            }
        }
        (Plan::Read(index), sight) => {
            let (key, others, told) = match sight {
                Sight::Hidden => {
                    let others = index.others.iter().map(IndexKey::hidden).collect();
                    (index.key.hidden(), others, Some(index.key))
                }
                _ => (index.key, index.others, None),
            };
            Begun::Read(Box::new(Lookup {
                key,
                others,
                form: index.form,
                cache_seconds: index.cache_seconds,
                token: caller.token(),
                told,
                is_private: sight == Sight::Private,
                wanted: index.wanted,
                method,
                if_none_match: asked.if_none_match.map(str::to_owned),
                range: None,
            }))
        }
    }
}

/// The answer to somebody whose credentials are of no use.
pub fn refused<S>(asked: &Asked<'_>, bad: CredentialsError) -> Reply<S> {
    refusal(asked, &Problem::from(bad))
}

/// The answer to somebody who has none.
fn closed<S>(asked: &Asked<'_>) -> Reply<S> {
    refusal(asked, &Problem::no_token())
}

/// The answer to somebody who is not let through, in the form that the client of the path shows.
pub fn refusal<S>(asked: &Asked<'_>, problem: &Problem) -> Reply<S> {
    let reply = match problem {
        Problem::Unauthorized(told) if is_oci(asked.path) => {
            Problem::Oci(unauthorized(asked.origin, told)).oci_reply()
        }
        problem if is_oci(asked.path) => problem.oci_reply(),
        // The one error whose words a client shows to its user (clients.md 3.7).
        problem if is_module_download(asked.path) => problem.text_reply(),
        problem => problem.reply(),
    };
    match asked.method {
        "HEAD" => reply.into_head(),
        _ => reply,
    }
}

/// Whose the things are that an index is about.
fn owner_of(key: &IndexKey, providers: &ProviderRepositories) -> Owner {
    match key {
        // Nobody reads it by a route.
        IndexKey::Revocations => Owner::of_namespace(""),
        IndexKey::Versions(package)
        | IndexKey::MirrorVersions(package)
        | IndexKey::Version(package, _)
        | IndexKey::Tags(package)
        | IndexKey::Tag(package, _)
        | IndexKey::Content(package, _) => Owner::of(package),
        IndexKey::Pushed(index) => providers.owner(index.repository()),
    }
}
