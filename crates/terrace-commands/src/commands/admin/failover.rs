//! `terrace admin failover`.

use clap::Subcommand;
use serde_json::json;
use terrace_core::api::admin::{CopyFacts, FailoverAnswer, FailoverBody};
use terrace_core::api::endpoint::FAILOVER;
use terrace_core::storage::failover::ServingBucket;

use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::{Output, bytes, plural};
use crate::registry::client::Call;

#[derive(Debug, Subcommand)]
pub(crate) enum FailoverCommand {
    /// Serve downloads from the second bucket
    #[command(
        after_help = "Example: terrace admin failover on --reason 'R2 is down'\nToken scope: admin"
    )]
    On {
        /// The reason, which the audit log keeps
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Also if the second bucket lacks copies, whose downloads then fail
        #[arg(long)]
        force: bool,
    },
    /// Serve downloads from the main bucket again
    #[command(
        after_help = "Example: terrace admin failover off --reason 'R2 answers again'\nToken scope: admin"
    )]
    Off {
        /// The reason, which the audit log keeps
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Show which bucket serves downloads, and how many archives the second one lacks
    #[command(after_help = "Example: terrace admin failover status\nToken scope: admin")]
    Status,
}

/// Executes the command.
pub(super) fn failover(command: &FailoverCommand, session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect()?;
    let (serving, reason, force) = match command {
        FailoverCommand::Status => {
            let state = client.call(Call::get(&FAILOVER))?;
            print(&state, output);
            return Ok(());
        }
        FailoverCommand::On { reason, force } => (ServingBucket::Fallback, reason, *force),
        FailoverCommand::Off { reason } => (ServingBucket::Main, reason, false),
    };
    let body = FailoverBody {
        serving,
        reason: reason.clone(),
        force,
    };
    let state: FailoverAnswer = client.call(Call::put(&FAILOVER).json(&body)?)?;
    print(&state, output);
    if force {
        output.warning(
            "--force skips the comparison of the two buckets: downloads of archives without a copy in the second one fail",
        );
    }
    Ok(())
}

fn print(state: &FailoverAnswer, output: &Output) {
    let mut lines = vec![match (state.configured, state.serving) {
        (false, _) => {
            "the registry has no second bucket: set the TERRACE_S3_FALLBACK_… variables".to_owned()
        }
        (true, ServingBucket::Main) => "the main bucket serves downloads".to_owned(),
        (true, ServingBucket::Fallback) => {
            "the second bucket serves downloads, and nothing can be changed".to_owned()
        }
    }];
    if let Some(since) = &state.since {
        let by = state.by.as_deref().unwrap_or_default();
        let reason = state.reason.as_deref().unwrap_or_default();
        lines.push(format!(
            "since {since} (by {by}: {reason}); a change takes effect everywhere within a minute"
        ));
    }
    if !state.recorded {
        lines.push(
            "the change is not in R2 and in the audit log yet, because R2 did not answer, its record was damaged, or another change came \
             at the same time: the registry adds it within minutes when R2 answers"
                .to_owned(),
        );
    }
    match &state.copy {
        Some(facts) => lines.push(describe(facts)),
        None if state.configured && state.recorded => lines.push(describe(&CopyFacts::default())),
        // The state of the copy is in R2.
        None => {}
    }
    output.result(&lines, &json!({ "status": "ok", "failover": state }));
}

/// Describes the copy in the second bucket.
pub(crate) fn describe(copy: &CopyFacts) -> String {
    let mut text = match (&copy.compared, copy.missing) {
        (None, _) => "the copy has not been compared completely yet: the scheduled run does that within some ten minutes, or more in a \
                      large registry; `failover on` needs --force until then"
            .to_owned(),
        (Some(time), 0) => format!(
            "the copy had everything ({}) at {time}",
            plural(copy.stored, "archive")
        ),
        (Some(time), missing) => format!(
            "the copy lacked {missing} of {} ({}) at {time}: `terrace admin replicate` copies them",
            plural(copy.stored, "archive"),
            bytes(copy.missing_bytes)
        ),
    };
    if copy.erased > 0 {
        text.push_str(&format!(
            "; it still had {}, which the scheduled copy removes (documentation 65 minutes after its erasure)",
            plural(copy.erased, "erased archive")
        ));
    }
    if copy.surplus > 0 {
        text.push_str(&format!(
            "; only the second bucket had {}: `terrace admin replicate --dry-run --json` names what the main bucket has lost, or what was \
             removed while the settings of the second bucket were absent",
            plural(copy.surplus, "archive")
        ));
    }
    if let Some(error) = &copy.error {
        text.push_str(&format!("; the last failure: {error}"));
    }
    text
}
