use super::*;
use crate::args;

/// Returns every command with its path, groups of commands included.
fn commands(path: &str, command: &Command) -> Vec<(String, Command)> {
    let mut all = vec![(path.to_owned(), command.clone())];
    let own = command
        .get_subcommands()
        .filter(|it| it.get_name() != "help");
    for inner in own {
        let path = format!("{path} {}", inner.get_name());
        all.extend(commands(path.trim_start(), inner));
    }
    all
}

fn all_commands() -> Vec<(String, Command)> {
    let mut command = args::command();
    command.build();
    commands("", &command)
}

/// Splits a command line as a shell does that knows single quotes only.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

#[test]
fn every_command_shows_an_example_that_parses() {
    for (path, command) in all_commands() {
        let help = command.clone().render_long_help().to_string();
        let example = help.split_once("Example:\n  ");
        let (_, example) = example.unwrap_or_else(|| panic!("{path}: {help}"));
        let (example, _) = example.split_once('\n').unwrap();
        let expected = format!("terrace {path}");
        assert!(
            example.starts_with(expected.trim_end()),
            "{path}: {example}"
        );
        let given: Vec<_> = words(example).into_iter().map(Into::into).collect();
        if let Err(error) = args::parse(&given) {
            panic!("{example}: {error}");
        }
    }
}

#[test]
fn every_command_lists_its_exit_codes() {
    for (path, command) in all_commands() {
        let help = command.clone().render_long_help().to_string();
        let (_, codes) = help
            .split_once("Exit codes")
            .unwrap_or_else(|| panic!("{path}"));
        let lists = |exit: Exit| codes.contains(&format!("\n  {}  ", exit.code()));
        let entry = ENTRIES.iter().find(|entry| entry.path == path);
        for exit in [Exit::Success, Exit::Unexpected, Exit::Usage] {
            assert!(lists(exit), "{path}: {help}");
        }
        let below = |it: &&Entry| it.path.starts_with(path.as_str());
        let mut entries = ENTRIES.iter().filter(below);
        let connects = entries.clone().any(|it| it.connects);
        assert_eq!(lists(Exit::NotAllowed), connects, "{path}: {help}");
        let reaches = entries.any(|it| it.connects || it.unavailable.is_some());
        assert_eq!(lists(Exit::Unavailable), reaches, "{path}: {help}");
        let is_group = command.has_subcommands();
        assert_eq!(entry.is_none(), is_group, "{path}");
        if let Some(entry) = entry {
            assert_eq!(lists(Exit::Rejected), entry.rejected.is_some(), "{path}");
            assert_eq!(lists(Exit::Conflict), entry.conflict.is_some(), "{path}");
        }
        for line in codes.lines() {
            assert!(line.chars().count() <= WIDTH, "{path}: {line}");
        }
    }
}

#[test]
fn every_command_that_connects_names_the_scopes_of_its_endpoint_and_no_others() {
    for (path, command) in all_commands() {
        let Some(entry) = ENTRIES.iter().find(|entry| entry.path == path) else {
            continue;
        };
        let needs_no_scope = !entry.connects || ["login", "logout"].contains(&entry.path);
        assert_eq!(entry.access().is_none(), needs_no_scope, "{path}");
        let help = command.clone().render_long_help().to_string();
        let (prose, end) = help.split_once("Example:\n").unwrap();
        if let Some(scopes) = entry.access().and_then(scopes) {
            let line = format!("\nScope of the token:\n  {scopes}");
            assert!(end.contains(&line), "{path}: {end}");
        }
        assert!(!prose.contains("the admin scope"), "{path}: {prose}");
    }
}

#[test]
fn every_entry_belongs_to_a_command() {
    let commands = all_commands();
    for entry in &ENTRIES {
        let is_known = commands.iter().any(|(path, _)| path == entry.path);
        assert!(is_known, "{}", entry.path);
    }
}

#[test]
fn the_exit_codes_of_a_group_are_those_of_its_commands() {
    let listed = |path: &str| text(path).unwrap().contains("\n  4  conflict: ");
    assert!(listed(""));
    assert!(listed("publish"));
    assert!(!listed("key"));
    assert!(!listed("release"));
}
