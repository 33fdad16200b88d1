//! The command line of `terrace webhook`.

use clap::{Subcommand, ValueEnum};
use terrace_core::model::owner::OwnerPattern;
use terrace_core::model::webhook_id::WebhookId;
use terrace_core::model::webhook_name::WebhookName;
use terrace_core::storage::webhook::EventKind;

#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Send the events of later changes to a URL, and print the secret of their signatures
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
        /// Send only events of this namespace; may be given several times. The namespace of mirrored providers is
        /// <hostname>/<namespace>
        #[arg(long = "namespace", value_name = "NAMESPACE")]
        namespaces: Vec<OwnerPattern>,
        /// A name for lists; a second webhook with the same URL and namespaces needs one
        #[arg(long)]
        name: Option<WebhookName>,
        /// The format: `json`, or `slack` for Slack and receivers that understand its messages
        #[arg(long, value_enum, default_value = "json")]
        format: FormatName,
    },
    /// List the webhooks with their progress
    List,
    /// Send a test event now; a success resumes deliveries after failures
    Test {
        /// The ID of the webhook, as in `terrace webhook list`
        id: WebhookId,
    },
    /// Print the secret with which the deliveries of a webhook are signed
    ///
    /// The secret is derived from the admin token, so that it changes with it.
    Secret {
        /// The ID of the webhook
        id: WebhookId,
    },
    /// Remove a webhook
    Remove {
        /// The ID of the webhook
        id: WebhookId,
    },
}

/// The format of deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    Json,
    Slack,
}
