//! A command line that clap does not accept: a request for help or the version, or an error.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use terrace_base::untrusted::{self, is_unprintable};

use crate::error::Failure;
use crate::output::secrets::{HIDDEN_TOKEN, Secrets};
use crate::output::{Output, Verbosity};

/// The value names of the arguments that take the ID of a token.
pub(crate) const TOKEN_IDS: [&str; 2] = ["<ID>", "[IDS]..."];

/// Prints the help, the version, or the error in a command line without the secrets on it. Returns the exit code.
pub(crate) fn report(error: clap::Error, given: &[OsString], secrets: Secrets) -> ExitCode {
    if !error.use_stderr() {
        // Help and versions quote nothing. A failure cannot be reported anywhere else.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = text(error);
    let json = given.iter().any(|argument| argument == "--json");
    let output = Output::new(json, Verbosity::Normal, secrets);
    let failure = Failure::Usage(summary(&text));
    match json {
        true => output.failure(&failure),
        false => output.misread(text.trim_end()),
    }
    ExitCode::from(failure.exit().code())
}

fn text(mut error: clap::Error) -> String {
    let is_token_id = matches!(
        error.get(ContextKind::InvalidArg),
        Some(ContextValue::String(name)) if TOKEN_IDS.contains(&name.as_str())
    );
    // A wrong value in place of an ID is most likely a token, of any form.
    if is_token_id && error.get(ContextKind::InvalidValue).is_some() {
        let hidden = ContextValue::String(HIDDEN_TOKEN.to_owned());
        error.insert(ContextKind::InvalidValue, hidden);
    }
    // A line feed in an argument, which may be a file name, must not end a line of the message.
    let is_harmful = |text: &str| text.contains(is_unprintable);
    let quoted = error.context().filter_map(|(kind, value)| match value {
        ContextValue::String(text) if is_harmful(text) => {
            let text = untrusted::line(text).to_string();
            Some((kind, ContextValue::String(text)))
        }
        // Hints that quote the argument again.
        ContextValue::StyledStrs(texts)
            if texts.iter().any(|text| is_harmful(&text.to_string())) =>
        {
            Some((kind, ContextValue::None))
        }
        _ => None,
    });
    for (kind, value) in quoted.collect::<Vec<_>>() {
        error.insert(kind, value);
    }
    error.to_string()
}

/// Returns the message in one line, without the usage and the reference to the help.
fn summary(text: &str) -> String {
    let is_end = |line: &str| line.starts_with("Usage: ") || line.starts_with("For more ");
    let message = text.lines().map(str::trim).take_while(|line| !is_end(line));
    let message: Vec<&str> = message.filter(|line| !line.is_empty()).collect();
    let message = message.join(" ");
    message
        .strip_prefix("error: ")
        .unwrap_or(&message)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use clap::Command;
    use terrace_core::model::token_id::TokenId;

    use super::*;

    /// Secrets, each with the part that must not be repeated: those of the environment, of a registry, and in URLs.
    const SECRETS: [(&str, &str); 4] = [
        (
            "terrace_7f3a9c2e51b04d68.MTc5NjkwNDAw.q0JxbWFj.0f1e2d3c",
            "MTc5NjkwNDAw",
        ),
        ("the-admin-token-of-the-environment", "admin-token-of"),
        ("https://me:pa5sw0rd@registry.example.com", "pa5sw0rd"),
        ("https://r.example.com/x?X-Amz-Signature=5ecre7", "5ecre7"),
    ];

    fn message(given: &[OsString]) -> Option<String> {
        let variables = [("TERRACE_TOKEN".into(), SECRETS[1].0.into())];
        let secrets = Secrets::find(given, variables);
        let text = text(crate::commands::command_line::parse(given).err()?);
        Some(
            secrets
                .hide(&format!("{text}\n{}", summary(&text)))
                .into_owned(),
        )
    }

    /// Returns command lines with a secret in each place of a command and of its subcommands.
    fn each_place(command: &Command, before: &[OsString], secret: &str) -> Vec<Vec<OsString>> {
        let with = |more: &[&str]| {
            let more = more.iter().map(OsString::from);
            before.iter().cloned().chain(more).collect::<Vec<_>>()
        };
        let mut lines = vec![
            with(&[secret]),
            with(&[secret, secret, secret, secret]),
            with(&["--tokn", secret]),
            with(&[&format!("--tokn={secret}")]),
            with(&[&format!("-t{secret}")]),
        ];
        for argument in command.get_arguments() {
            if let Some(option) = argument.get_long() {
                lines.push(with(&[&format!("--{option}={secret}")]));
            }
        }
        for inner in command.get_subcommands() {
            let before = with(&[inner.get_name()]);
            lines.extend(each_place(inner, &before, secret));
        }
        lines
    }

    #[test]
    fn no_place_of_any_command_repeats_a_secret() {
        let mut command = crate::commands::command_line::command();
        command.build();
        let mut count = 0;
        // Each place gets one form of secret, and by default one in four, because a wrong command line takes some 60 ms in an
        // unoptimised build.
        let spread = if std::env::var_os("TERRACE_CASES").is_some() {
            1
        } else {
            4
        };
        for (at, (secret, part)) in SECRETS.into_iter().enumerate() {
            let places = each_place(&command, &["terrace".into()], secret).into_iter();
            for given in places.skip(at).step_by(SECRETS.len() * spread) {
                let Some(message) = message(&given) else {
                    continue;
                };
                assert!(!message.contains(part), "{given:?}: {message}");
                count += 1;
            }
        }
        assert!(count > 300 / spread, "{count}");
    }

    #[test]
    fn a_token_is_accepted_in_place_of_its_id_and_another_value_is_never_repeated() {
        for command in ["rotate", "revoke"] {
            let given = ["terrace", "token", command, SECRETS[0].0].map(OsString::from);
            let arguments = crate::commands::command_line::parse(&given).unwrap();
            let id: TokenId = "7f3a9c2e51b04d68".parse().unwrap();
            let parsed = format!("{:?}", arguments.command);
            assert!(parsed.contains(&format!("{id:?}")), "{parsed}");
            let given = ["terrace", "token", command, "hunter2"].map(OsString::from);
            let message = message(&given).unwrap();
            assert!(!message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn a_line_feed_in_an_argument_does_not_end_a_line() {
        let argument = "a\nerror: forged\u{202e}";
        for given in [
            &["terrace", "key", "list", argument] as &[&str],
            &["terrace", "key", "list", "acme", argument],
            &["terrace", argument],
            &["terrace", "key", "list", "acme", &format!("--{argument}")],
        ] {
            let given: Vec<OsString> = given.iter().map(OsString::from).collect();
            let message = message(&given).unwrap();
            assert!(!message.contains("\nerror: forged"), "{message}");
        }
    }
}
