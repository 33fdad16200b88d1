//! `terrace webhook`.

use serde_json::json;
use terrace_base::json::to_string;
use terrace_core::api::admin::{WebhookAnswer, WebhookBody};
use terrace_core::model::webhook_id::WebhookId;

use crate::args::{FormatName, RegistryArguments, WebhookCommand};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table};

/// Executes the command.
pub(crate) fn run(
    command: &WebhookCommand,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
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
                format: Some(match format {
                    FormatName::Json => "json".to_owned(),
                    FormatName::Slack => "slack".to_owned(),
                }),
                name: own_name.as_ref().map(ToString::to_string),
            };
            let added = connect(registry, output)?.add_webhook(&body)?;
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
        WebhookCommand::List => list(registry, output),
        WebhookCommand::Test { id } => test(*id, registry, output),
        WebhookCommand::Secret { id } => {
            print_secret(&connect(registry, output)?.webhook(*id)?, output)
        }
        WebhookCommand::Remove { id } => {
            let removed = connect(registry, output)?.remove_webhook(*id)?;
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
    let Some(secret) = &webhook.secret else {
        let message = "the registry responded without a secret".to_owned();
        return Err(Failure::Unexpected(message));
    };
    output.secret(secret, &json!({ "status": "ok", "webhook": webhook }));
    Ok(())
}

fn list(registry: &RegistryArguments, output: &Output) -> Result<(), Failure> {
    let webhooks = connect(registry, output)?.webhooks()?.webhooks;
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
            Column::cut("STATE"),
        ]);
        for webhook in &webhooks {
            let events: Vec<String> = webhook.events.iter().map(name).collect();
            let namespaces = match webhook.namespaces.as_slice() {
                [] => "all".to_owned(),
                some => some.join(" "),
            };
            table.row([
                webhook.id.to_string(),
                webhook
                    .name
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
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
fn test(id: WebhookId, registry: &RegistryArguments, output: &Output) -> Result<(), Failure> {
    let tested = connect(registry, output)?.test_webhook(id)?;
    let result = &tested.result;
    if !tested.delivered {
        return Err(Failure::Refused(vec![format!(
            "the receiver did not accept the test event: {result}"
        )]));
    }
    let line = format!("the receiver accepted the test event: {result}");
    output.result(&[line], &json!({ "status": "ok", "result": result }));
    Ok(())
}
