//! A command line that clap does not take: help, a version, or what is wrong with it.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::{ContextKind, ContextValue};
use terrace_base::untrusted::{self, is_unprintable};

use super::Arguments;
use super::token::TOKEN_IDS;
use crate::error::Failure;
use crate::output::Output;
use crate::output::secrets::{HIDDEN_TOKEN, Secrets};

/// Says why a command line was not taken, without the secrets on it.
pub(crate) fn report(error: clap::Error, given: &[OsString], secrets: Secrets) -> ExitCode {
    if !error.use_stderr() {
        // Help and versions quote nothing. Nobody is left to be told when this fails.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let lines = lines(error, given, &secrets);
    let json = given.iter().any(|argument| argument == "--json");
    let output = Output::new(json, false, secrets);
    output.misread(&lines);
    let failure = Failure::Usage(summary(&lines));
    if json {
        output.print_failure(&failure);
    }
    ExitCode::from(failure.exit_code())
}

/// The lines of clap's message. A value that is a secret was never seen by what wrote them: a parser may quote
/// a part of its value, or change it.
fn lines(error: clap::Error, given: &[OsString], secrets: &Secrets) -> Vec<String> {
    let text = match secrets.hide_in_arguments(given) {
        None => text(error),
        Some(hidden) => {
            let error = Arguments::try_parse_from(hidden).err();
            let error = error.filter(clap::Error::use_stderr);
            let text = error.map_or_else(|| NOT_ITS_PLACE.to_owned(), text);
            format!("{}\n\n{WHERE_TO}", text.trim_end())
        }
    };
    text.trim_end().lines().map(str::to_owned).collect()
}

/// The message when the rest of the command line is right.
const NOT_ITS_PLACE: &str = "error: a token or another secret is given where it has no place";

/// What to do about a secret on the command line.
const WHERE_TO: &str = "note: what looks like a token is not repeated here. Set TERRACE_TOKEN to a token; \
                        where an ID is asked for, give the 16 hex digits after `terrace_`";

fn text(mut error: clap::Error) -> String {
    let is_token_id = matches!(
        error.get(ContextKind::InvalidArg),
        Some(ContextValue::String(name)) if TOKEN_IDS.contains(&name.as_str())
    );
    // In the place of an ID it is most likely a token, whatever its form.
    if is_token_id && error.get(ContextKind::InvalidValue).is_some() {
        let hidden = ContextValue::String(HIDDEN_TOKEN.to_owned());
        error.insert(ContextKind::InvalidValue, hidden);
    }
    // A line feed in an argument, which may be the name of a file, is no end of a line.
    let is_harmful = |text: &str| text.contains(is_unprintable);
    let quoted = error.context().filter_map(|(kind, value)| match value {
        ContextValue::String(text) if is_harmful(text) => {
            let text = untrusted::line(text).to_string();
            Some((kind, ContextValue::String(text)))
        }
        // Hints that quote it again.
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

/// The first line, which says what is wrong, and the note.
fn summary(lines: &[String]) -> String {
    let first = lines.first().map(String::as_str).unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    match lines.last() {
        Some(last) if last == WHERE_TO => format!("{first}. {last}"),
        _ => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};

    use super::*;

    /// Texts of each form in which a secret may be given, with the part that must not be repeated.
    const SECRETS: [(&str, &str); 6] = [
        (
            "terrace_7f3a9c2e51b04d68.MTc5NjkwNDAw.q0JxbWFj.0f1e2d3c",
            "MTc5NjkwNDAw",
        ),
        (
            "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJyZXBvIn0.c2lnbmF0dXJl",
            "eyJzdWIi",
        ),
        ("q7Zp0cT1l9yQ3n/0hXbW2m+R8sKdV5uE6fGjA4iYtLo=", "q7Zp0cT1"),
        ("the-admin-token-of-the-environment", "admin-token-of"),
        ("https://me:pa5sw0rd@registry.example.com", "pa5sw0rd"),
        ("https://r.example.com/x?X-Amz-Signature=5ecre7", "5ecre7"),
    ];

    fn told(given: &[OsString]) -> Option<String> {
        let variables = [("TERRACE_TOKEN".into(), SECRETS[3].0.into())];
        let secrets = Secrets::find(given, variables);
        let error = Arguments::try_parse_from(given).err()?;
        let lines = lines(error, given, &secrets);
        Some(format!("{}\n{}", lines.join("\n"), summary(&lines)))
    }

    /// The command lines that have a secret in each place of a command and of those below it.
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
        let mut command = Arguments::command();
        command.build();
        let mut count = 0;
        for (secret, part) in SECRETS {
            for given in each_place(&command, &["terrace".into()], secret) {
                let Some(told) = told(&given) else { continue };
                assert!(!told.contains(part), "{given:?}: {told}");
                count += 1;
            }
        }
        assert!(count > 500, "{count}");
    }

    #[test]
    fn a_token_in_place_of_its_id_is_answered_with_what_to_give() {
        for command in ["rotate", "revoke"] {
            let (secret, _) = SECRETS[0];
            let told = told(&["terrace", "token", command, secret].map(OsString::from)).unwrap();
            let asked = "that is a token; give its ID, the 16 hex digits after `terrace_`";
            assert!(told.contains(asked), "{told}");
        }
    }

    #[test]
    fn what_is_given_in_place_of_a_token_id_is_never_repeated() {
        let told = told(&["terrace", "token", "rotate", "hunter2"].map(OsString::from)).unwrap();
        assert!(!told.contains("hunter2"), "{told}");
        assert!(told.contains("16 hexadecimal digits"), "{told}");
    }

    #[test]
    fn a_line_feed_in_an_argument_ends_no_line() {
        let argument = "a\nerror: forged\u{202e}";
        for given in [
            &["terrace", "key", "list", argument] as &[&str],
            &["terrace", "key", "list", "acme", argument],
            &["terrace", argument],
            &["terrace", "key", "list", "acme", &format!("--{argument}")],
        ] {
            let given: Vec<OsString> = given.iter().map(OsString::from).collect();
            let told = told(&given).unwrap();
            assert!(!told.contains("\nerror: forged"), "{told}");
        }
    }

    #[test]
    fn an_argument_that_is_no_secret_is_repeated() {
        let told = told(&["terrace", "key", "list", "a_b"].map(OsString::from)).unwrap();
        assert!(told.contains("'a_b'"), "{told}");
    }
}
