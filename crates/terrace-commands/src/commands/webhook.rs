//! `terrace webhook`.

use clap::Subcommand;
use serde_json::json;
use terrace_base::json::to_string;
use terrace_core::api::admin::{WebhookAnswer, WebhookBody, WebhookTestAnswer, WebhooksAnswer};
use terrace_core::api::endpoint::{WEBHOOK, WEBHOOK_TEST, WEBHOOKS};
use terrace_core::model::owner::OwnerPattern;
use terrace_core::model::webhook_id::WebhookId;
use terrace_core::model::webhook_name::WebhookName;
use terrace_core::storage::webhook::EventKind;

use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table, shown};
use crate::registry::client::Call;

#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Send the events of later changes to a URL, and print the secret of their signatures
    #[command(
        after_help = "Example: terrace webhook add 'https://hooks.slack.com/services/…' --events publish,status --format slack\nToken scope: admin"
    )]
    Add {
        /// The receiver: an https URL of a public host. It is stored, and not shown again
        #[arg(value_name = "URL")]
        receiver: String,
        /// The events to send: publish, status, key, erase, token and rule
        #[arg(
            long,
            value_name = "EVENT",
            value_delimiter = ',',
            default_value = "publish,status,key"
        )]
        events: Vec<EventKind>,
        /// Send only events of this namespace; may be given several times. The namespace of mirrored packages is
        /// <hostname>/<namespace>
        #[arg(long = "namespace", value_name = "NAMESPACE")]
        namespaces: Vec<OwnerPattern>,
        /// A name for lists; a second webhook with the same URL and namespaces needs one
        #[arg(long)]
        name: Option<WebhookName>,
        /// The format: `json`, or `slack` for Slack and receivers that understand its messages
        #[arg(long, value_parser = ["json", "slack"], default_value = "json")]
        format: String,
    },
    /// List the webhooks with their progress
    #[command(after_help = "Example: terrace webhook list\nToken scope: admin")]
    List,
    /// Send a test event now; a success resumes deliveries after failures
    #[command(after_help = "Example: terrace webhook test 7f3a9c2e51b04d68\nToken scope: admin")]
    Test {
        /// The ID of the webhook, as in `terrace webhook list`
        id: WebhookId,
    },
    /// Print the secret with which the deliveries of a webhook are signed
    ///
    /// The secret is derived from the admin token, so that it changes with it.
    #[command(after_help = "Example: terrace webhook secret 7f3a9c2e51b04d68\nToken scope: admin")]
    Secret {
        /// The ID of the webhook
        id: WebhookId,
    },
    /// Remove a webhook
    #[command(after_help = "Example: terrace webhook remove 7f3a9c2e51b04d68\nToken scope: admin")]
    Remove {
        /// The ID of the webhook
        id: WebhookId,
    },
}

/// Executes the command.
pub(crate) fn run(command: &WebhookCommand, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    match command {
        WebhookCommand::Add {
            receiver,
            events,
            namespaces,
            name: own_name,
            format,
        } => {
            let body = WebhookBody {
                url: receiver.clone(),
                events: events.iter().map(name).collect(),
                namespaces: namespaces.iter().map(ToString::to_string).collect(),
                format: Some(format.clone()),
                name: own_name.as_ref().map(ToString::to_string),
            };
            let added: WebhookAnswer = session
                .connect()?
                .call(Call::post(&WEBHOOKS).json(&body)?)?;
            let unsent = events.iter().filter(|event| !event.has_namespace());
            let unsent: Vec<String> = unsent.map(ToString::to_string).collect();
            if !namespaces.is_empty() && !unsent.is_empty() {
                output.warning(&format!(
                    "the webhook is sent no events of the kinds {}, which have no namespace: add a second one without --namespace \
                     for them",
                    unsent.join(" and ")
                ));
            }
            if !output.is_json() {
                output.progress(&format!("webhook {} to {} is added", added.id, added.host));
                output.progress("the secret with which its deliveries are signed:");
            }
            print_secret(&added, output)
        }
        WebhookCommand::List => list(session),
        WebhookCommand::Test { id } => test(*id, session),
        WebhookCommand::Secret { id } => {
            let call = Call::get(&WEBHOOK).with(id);
            print_secret(&session.connect()?.call(call)?, output)
        }
        WebhookCommand::Remove { id } => {
            let call = Call::delete(&WEBHOOK).with(id);
            let removed: WebhookAnswer = session.connect()?.call(call)?;
            let line = format!("webhook {id} to {} is removed", removed.host);
            output.result(&[line], &json!({ "status": "ok", "webhook": removed }));
            Ok(())
        }
    }
}

/// Returns the name of an event or format as in JSON.
fn name(value: &impl serde::Serialize) -> String {
    to_string(value).trim_matches('"').to_owned()
}

/// Prints the secret alone on standard output.
fn print_secret(webhook: &WebhookAnswer, output: &Output) -> Result<(), Failure> {
    let missing = || Failure::Unexpected("the registry responded without a secret".to_owned());
    let secret = webhook.secret.as_ref().ok_or_else(missing)?;
    output.secret(secret, &json!({ "status": "ok", "webhook": webhook }))
}

fn list(session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let list: WebhooksAnswer = session.connect()?.call(Call::get(&WEBHOOKS))?;
    let webhooks = list.webhooks;
    let mut screen = Screen::new();
    if webhooks.is_empty() {
        let add = output.command("webhook add URL");
        screen.text(&format!(
            "this registry has no webhooks; add one with `{add}`"
        ));
    } else {
        let mut table = Table::new([
            Column::whole("ID"),
            Column::cut("NAME"),
            Column::cut("HOST"),
            Column::cut("EVENTS"),
            Column::cut("NAMESPACES"),
            Column::left_out(2, "FORMAT"),
            Column::left_out(1, "BY"),
            Column::wrapped("STATE"),
        ]);
        for webhook in &webhooks {
            let events: Vec<String> = webhook.events.iter().map(name).collect();
            let namespaces = match webhook.namespaces.as_slice() {
                [] => "all".to_owned(),
                some => some.join(" "),
            };
            table.row([
                webhook.id.to_string(),
                shown(webhook.name.as_ref()),
                webhook.host.clone(),
                events.join(" "),
                namespaces,
                name(&webhook.format),
                webhook.by.clone(),
                state(webhook),
            ]);
        }
        screen.table(&table);
    }
    output.report(screen, &json!({ "status": "ok", "webhooks": webhooks }));
    Ok(())
}

/// Returns the state of a webhook in words.
fn state(webhook: &WebhookAnswer) -> String {
    let result = webhook.last_result.as_deref().unwrap_or("no answer");
    match (&webhook.disabled, &webhook.next_attempt, webhook.failures) {
        (Some(since), ..) => format!("disabled since {since}: {result}"),
        (None, Some(next), failures @ 1..) => {
            format!("{failures} failed, next attempt {next}: {result}")
        }
        _ => format!("delivered up to entry {}", webhook.delivered),
    }
}

/// Sends a test event, and fails if the receiver did not accept it.
fn test(id: WebhookId, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let call = Call::post(&WEBHOOK_TEST)
        .with(id)
        .text("{}", "application/json");
    let tested: WebhookTestAnswer = session.connect()?.call(call)?;
    let result = &tested.result;
    if !tested.delivered {
        return Err(Failure::refused(format!(
            "the receiver did not accept the test event: {result}"
        )));
    }
    let line = format!("the receiver accepted the test event: {result}");
    output.result(&[line], &json!({ "status": "ok", "result": result }));
    Ok(())
}
