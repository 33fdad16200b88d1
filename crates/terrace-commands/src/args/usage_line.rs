//! The usage line of each command, in its help and in errors.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use clap::Command;

/// The usage lines by the paths of the commands, such as `terrace publish module`.
type UsageLines = BTreeMap<String, String>;

/// Sets the usage lines, for the errors too. There clap would list all options that have values, from the environment as
/// well, and so suggest to give a token on the command line.
pub(super) fn set(command: Command) -> Command {
    static LINES: OnceLock<UsageLines> = OnceLock::new();
    let lines = LINES.get_or_init(|| {
        let mut built = command.clone();
        built.build();
        let mut lines = UsageLines::new();
        collect(built.get_name().to_owned(), &mut built, &mut lines);
        lines
    });
    set_below(command.get_name().to_owned(), command, lines)
}

fn collect(path: String, built: &mut Command, lines: &mut UsageLines) {
    for inner in built.get_subcommands_mut() {
        collect(format!("{path} {}", inner.get_name()), inner, lines);
    }
    let line = built.render_usage().to_string();
    let line = line.strip_prefix("Usage: ").unwrap_or(&line).to_owned();
    lines.insert(path, line);
}

fn set_below(path: String, command: Command, lines: &UsageLines) -> Command {
    let command = command.mut_subcommands(|inner| {
        let path = format!("{path} {}", inner.get_name());
        set_below(path, inner, lines)
    });
    match lines.get(&path) {
        Some(line) => command.override_usage(line.clone()),
        None => command,
    }
}
