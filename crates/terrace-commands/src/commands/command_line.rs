//! The command line as a whole: the options of all commands, help, and errors.

#[cfg(test)]
#[path = "command_line/tests/pages.rs"]
mod pages;
pub(crate) mod usage_error;

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{CommandFactory as _, FromArgMatches as _, Parser};

use crate::args::RegistryArguments;
use crate::commands::Command;
use crate::output::Verbosity;

/// The version with the commit, in a released program, and the target: `0.1.0 (3f2c1ab9d0e1, x86_64-unknown-linux-musl)`.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("TERRACE_BUILD"), ")");

/// Publish providers and modules to a Terrace registry, and operate the registry.
#[derive(Debug, Parser)]
#[command(name = "terrace", version = VERSION, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Print the result, or the error, as one JSON document on standard output
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Print no progress
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// Print the source of the token, and every request to the registry
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) registry: RegistryArguments,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Returns the amount of output on standard error.
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }
}

/// The commands in the overview, grouped by what people do.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Use",
        &["list", "show", "search", "compare", "check", "mcp"],
    ),
    ("Publish", &["publish", "docs", "key", "release"]),
    ("Mirror other registries", &["mirror"]),
    (
        "Access",
        &[
            "login", "logout", "whoami", "profile", "token", "trust", "role",
        ],
    ),
    (
        "Operate",
        &[
            "serve",
            "config",
            "doctor",
            "admin",
            "webhook",
            "completion",
        ],
    ),
];

/// The end of the help of `terrace`.
const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  unexpected error, such as a full disk or a malformed response
  2  the command line or its environment is invalid
  3  rejected: something is invalid, missing or damaged
  4  conflict: the state of the registry does not allow this
  5  not allowed: the token is invalid or lacks the scope, the registry does not trust the CI job, or there is no admin API at this URL
  6  unavailable: the registry or its storage cannot be reached or does not respond; run the command again
If a command fails in several ways, the first of 2, 5, 6, 1, 4 and 3 counts.

Example: terrace search network --kind module
`terrace COMMAND --help` describes a command, with an example and the scope that its token needs.";

/// Returns clap's description of the command line.
pub(crate) fn command() -> clap::Command {
    let command = Arguments::command().after_help(EXIT_CODES);
    let header = *command.get_styles().get_header();
    let mut overview = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (title, names) in GROUPS {
        overview.push_str(&format!("\n{header}{title}:{header:#}\n"));
        for inner in names
            .iter()
            .filter_map(|name| command.find_subcommand(name))
        {
            let about = inner.get_about().map(ToString::to_string);
            let about = about.unwrap_or_default();
            overview.push_str(&format!("  {:<11} {about}\n", inner.get_name()));
        }
    }
    command.help_template(
        overview + &format!("\n{header}Options:{header:#}\n{{options}}{{after-help}}"),
    )
}

/// Parses a command line.
///
/// # Errors
/// The requested help or version, or the error in the command line.
pub(crate) fn parse(given: &[OsString]) -> Result<Arguments, clap::Error> {
    let matches = command().try_get_matches_from(given)?;
    let arguments = Arguments::from_arg_matches(&matches);
    let mut arguments = arguments.map_err(|error| {
        let mut command = command();
        command.build();
        error.format(&mut command)
    })?;
    let in_environment = |id| matches.value_source(id) == Some(ValueSource::EnvVariable);
    arguments.registry.is_token_in_environment = in_environment("token");
    arguments.registry.is_url_in_environment = in_environment("url");
    arguments.registry.is_profile_in_environment = in_environment("profile");
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::Command;

    #[test]
    fn the_command_line_is_well_formed() {
        super::command().debug_assert();
    }

    /// Returns every command that has no subcommands, and with groups those that have.
    fn each(command: &Command, run: &mut impl FnMut(&Command)) {
        run(command);
        for inner in command.get_subcommands() {
            each(inner, run);
        }
    }

    #[test]
    fn the_overview_has_every_command_and_the_help_of_each_an_example_that_parses() {
        let command = super::command();
        let overview: Vec<_> = super::GROUPS.iter().flat_map(|(_, names)| *names).collect();
        let names: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(overview.len(), names.len());
        assert!(
            names.iter().all(|name| overview.contains(&name)),
            "{names:?}"
        );
        let mut count = 0;
        each(&command, &mut |command| {
            let end = command.get_after_help().map(ToString::to_string);
            assert_eq!(
                end.is_some(),
                command.get_subcommands().next().is_none() || command.get_name() == "terrace"
            );
            for example in end
                .iter()
                .flat_map(|end| end.lines())
                .filter_map(|line| line.strip_prefix("Example: "))
            {
                // The examples quote with single quotes only.
                let parts = example.split('\'').enumerate();
                let words = parts.flat_map(|(at, part)| match at % 2 {
                    0 => part.split_whitespace().map(OsString::from).collect(),
                    _ => vec![OsString::from(part)],
                });
                let parsed = super::parse(&words.collect::<Vec<_>>());
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
                count += 1;
            }
        });
        assert!(count > 50, "{count}");
    }

    /// clap takes an argument of a subcommand for the global one with the same name, such as `url`.
    #[test]
    fn no_argument_of_a_command_has_the_name_of_a_global_one() {
        fn check(command: &Command, globals: &[&str]) {
            for argument in command.get_arguments().filter(|it| !it.is_global_set()) {
                let (id, name) = (argument.get_id().as_str(), command.get_name());
                assert!(!globals.contains(&id), "{name}: {id}");
            }
            for inner in command.get_subcommands() {
                check(inner, globals);
            }
        }
        let command = super::command();
        let globals = command.get_arguments().filter(|it| it.is_global_set());
        let globals: Vec<&str> = globals.map(|it| it.get_id().as_str()).collect();
        assert!(globals.contains(&"url"), "{globals:?}");
        for inner in command.get_subcommands() {
            check(inner, &globals);
        }
    }
}
