//! Adds, lists, tests and removes webhooks.

use std::str::FromStr;

use futures_util::future::join_all;
use terrace_base::url::HttpsUrl;
use terrace_core::api::admin::{WebhookAnswer, WebhookBody, WebhookTestAnswer, WebhooksAnswer};
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::maintenance::webhook_event::Event;
use terrace_core::model::owner::OwnerPattern;
use terrace_core::model::webhook_id::WebhookId;
use terrace_core::model::webhook_name::WebhookName;
use terrace_core::storage::key::FactKey;
use terrace_core::storage::webhook::{EventKind, Webhook, WebhookFormat, WebhookState};

use crate::context::Context;
use crate::documents::audit;
use crate::failure::Failure;
use crate::host::{Clock as _, Facts as _, Host};
use crate::outcome::{AuditDetails, Call, Handled, Outcome};
use crate::{json, listing, webhooks};

/// Adds a webhook, which begins with the next change.
pub(crate) async fn add<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    let body: WebhookBody = json::parse(&call.body)?;
    let Receiver {
        name,
        url,
        events,
        namespaces,
        format,
    } = Receiver::parse(&body).map_err(|reason| Problem::Invalid(vec![reason]))?;
    let webhook = Webhook::new(
        WebhookId::new(call.id_of_created(ctx.host.random())),
        url,
        events,
        &namespaces,
        format,
        ctx.host.clock().now(),
        call.caller.name(),
        audit::newest_known(ctx).await?,
    );
    let webhook = webhook.named(name);
    // A client chooses among the names of the registry, and one with a name of its own is not for this machine alone.
    let webhook = match ctx.config.hostnames.is_empty() {
        true => webhook.of_registry(&call.origin),
        false => webhook,
    };
    let checked = webhook.guard().check(webhook.url().as_url().into());
    checked.map_err(|error| Problem::Invalid(vec![error.to_string()]))?;
    let webhook = webhooks::change(ctx, |list| {
        // An earlier attempt of the same request added it.
        if let Some(known) = list.webhooks.iter().find(|it| it.id == webhook.id) {
            return match known.is_of_same_request(&webhook) {
                true => Ok(known.clone()),
                false => Err(call.reused_key(&format!("webhook {}", known.id)).into()),
            };
        }
        if let Some(known) = list.webhooks.iter().find(|it| it.is_like(&webhook)) {
            return Err(Problem::Conflict(vec![already_sent_to(known)]).into());
        }
        if list.webhooks.len() >= limits::WEBHOOKS {
            let message = format!(
                "the registry has {} webhooks, which is the most that it may have: remove one first",
                limits::WEBHOOKS
            );
            return Err(Problem::Conflict(vec![message]).into());
        }
        list.webhooks.push(webhook.clone());
        Ok(webhook.clone())
    })
    .await?;
    let path = format!("/admin/v1/webhooks/{}", webhook.id);
    let answer = WebhookAnswer::new(
        &webhook,
        &WebhookState::of(&webhook),
        secret(ctx, webhook.id),
    );
    Ok(Outcome::new(
        json::reply(201, &answer)?.with("location", path.clone()),
        AuditDetails::Makes(path),
    ))
}

/// Returns why a second webhook with the same receiver, namespaces and name is not added. The URL is not repeated.
fn already_sent_to(known: &Webhook) -> String {
    let id = known.id;
    let (what, other) = match &known.name {
        Some(name) => (format!("webhook {id} ({name})"), "another name"),
        None => (format!("webhook {id}"), "a name"),
    };
    format!(
        "{what} sends events of the same namespaces to this URL already: remove it first, or give the second one {other}"
    )
}

/// Lists all webhooks with their progress.
pub(crate) async fn list<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    listing::only(&call, &[])?;
    let list = webhooks::all(ctx).await?;
    let read = list.webhooks.iter().map(async |webhook| {
        let state = webhooks::state(ctx, webhook).await?;
        Ok(WebhookAnswer::new(webhook, &state, None))
    });
    let webhooks: Result<_, Failure> = join_all(read).await.into_iter().collect();
    let answer = WebhooksAnswer {
        webhooks: webhooks?,
    };
    Ok(json::reply(200, &answer)?.into())
}

/// Describes a webhook, with its secret.
pub(crate) async fn describe<P: Host>(ctx: &Context<'_, P>, id: WebhookId) -> Handled<P::Stream> {
    let webhook = find(ctx, id).await?;
    let state = webhooks::state(ctx, &webhook).await?;
    let answer = WebhookAnswer::new(&webhook, &state, secret(ctx, id));
    Ok(json::reply(200, &answer)?.into())
}

/// Removes a webhook.
pub(crate) async fn remove<P: Host>(ctx: &Context<'_, P>, id: WebhookId) -> Handled<P::Stream> {
    let removed = webhooks::change(ctx, |list| {
        let known = list.webhooks.iter().position(|webhook| webhook.id == id);
        let known = known.ok_or_else(|| unknown(id))?;
        Ok(list.webhooks.remove(known))
    })
    .await?;
    // A state that stays because of a failure does no harm: its ID is not used again, except by a late retry of the request
    // that added the webhook.
    ctx.host.facts().delete(&FactKey::WebhookState(id)).await?;
    let answer = WebhookAnswer::new(&removed, &WebhookState::of(&removed), None);
    Ok(json::reply(200, &answer)?.into())
}

/// Sends a test event now. A success ends the pause after failures, and enables a disabled webhook.
pub(crate) async fn test<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    id: WebhookId,
) -> Handled<P::Stream> {
    let webhook = find(ctx, id).await?;
    let event = Event::test(call.caller.name(), ctx.host.clock().now());
    let message_id = format!("msg_{id}_test_{:x}", ctx.unique_number());
    let attempt = webhooks::send(ctx, &webhook, &message_id, &event).await;
    if attempt.is_accepted {
        let result = &attempt.result;
        let succeed = |state: &mut WebhookState| state.succeed(result.clone());
        webhooks::change_state(ctx, &webhook, succeed).await?;
    }
    let answer = WebhookTestAnswer {
        delivered: attempt.is_accepted,
        result: attempt.result,
    };
    Ok(json::reply(200, &answer)?.into())
}

/// The validated body of a request to add a webhook.
struct Receiver {
    name: Option<WebhookName>,
    url: HttpsUrl,
    events: Vec<EventKind>,
    namespaces: Vec<OwnerPattern>,
    format: WebhookFormat,
}

impl Receiver {
    /// Returns the reason against an invalid body, which does not repeat the URL: it may be a secret.
    fn parse(body: &WebhookBody) -> Result<Self, String> {
        let url = body.url.parse::<HttpsUrl>();
        let url = url.map_err(|error| format!("the URL is invalid: {error}"))?;
        let mut events: Vec<EventKind> = all(&body.events)?;
        if events.is_empty() {
            events.extend(EventKind::DEFAULT);
        }
        let (count, max) = (body.namespaces.len(), limits::WEBHOOK_NAMESPACES);
        if count > max {
            return Err(format!(
                "namespaces has {count} entries: at most {max} are allowed"
            ));
        }
        let namespaces = all(&body.namespaces)?;
        if !namespaces.is_empty() && !events.iter().any(|event| event.has_namespace()) {
            let reason = "the events of token and rule have no namespace, so none would be sent: leave out the namespaces, or \
                          add publish, status, key or erase";
            return Err(reason.to_owned());
        }
        Ok(Self {
            name: body.name.as_deref().map(text).transpose()?,
            url,
            events,
            namespaces,
            format: text(body.format.as_deref().unwrap_or("json"))?,
        })
    }
}

/// Parses texts, and drops those that occur again.
fn all<'t, T: FromStr<Err: ToString> + PartialEq>(
    texts: impl IntoIterator<Item = &'t String>,
) -> Result<Vec<T>, String> {
    let mut parsed = Vec::new();
    for one in texts {
        let one = text(one)?;
        if !parsed.contains(&one) {
            parsed.push(one);
        }
    }
    Ok(parsed)
}

fn text<T: FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

async fn find<P: Host>(ctx: &Context<'_, P>, id: WebhookId) -> Result<Webhook, Failure> {
    let list = webhooks::all(ctx).await?;
    let found = list.webhooks.into_iter().find(|webhook| webhook.id == id);
    found.ok_or_else(|| unknown(id))
}

fn unknown(id: WebhookId) -> Failure {
    Problem::NotFound(format!("there is no webhook {id}")).into()
}

fn secret<P: Host>(ctx: &Context<'_, P>, id: WebhookId) -> Option<String> {
    ctx.config.access.webhook_keys().map(|keys| keys.secret(id))
}
