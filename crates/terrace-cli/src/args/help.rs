//! The end of each command's help: an example, and the exit codes that the command can end with.

use std::collections::BTreeSet;

use clap::Command;

use crate::error::Exit;
use crate::output::wrap;

/// The columns that the text takes at most; clap wraps it further in a narrower terminal.
const WIDTH: usize = 80;

/// The example and the exit codes of a command without subcommands.
///
/// Each of them can end with [`Exit::Success`], [`Exit::Unexpected`] and [`Exit::Usage`], and each that connects to a
/// registry with [`Exit::NotAllowed`] and [`Exit::Unavailable`].
struct Entry {
    /// The names of the command, after `terrace`.
    path: &'static str,
    /// A command line that works where TERRACE_URL and TERRACE_TOKEN are set.
    example: &'static str,
    /// The meaning of [`Exit::Success`].
    success: &'static str,
    /// The meaning of [`Exit::Rejected`], if the command can end with it.
    rejected: Option<&'static str>,
    /// The meaning of [`Exit::Conflict`], if the command can end with it.
    conflict: Option<&'static str>,
    /// A meaning of [`Exit::NotAllowed`] that other commands do not have.
    not_allowed: Option<&'static str>,
    /// The meaning of [`Exit::Unavailable`], if it differs from that of other commands.
    unavailable: Option<&'static str>,
    /// Whether the command goes on after the failure of one version, and so can fail in several ways.
    goes_on: bool,
    /// Whether the command connects to a registry.
    connects: bool,
}

impl Entry {
    const fn new(path: &'static str, example: &'static str, success: &'static str) -> Self {
        Self {
            path,
            example,
            success,
            rejected: None,
            conflict: None,
            not_allowed: None,
            unavailable: None,
            goes_on: false,
            connects: true,
        }
    }

    const fn rejected(mut self, meaning: &'static str) -> Self {
        self.rejected = Some(meaning);
        self
    }

    const fn conflict(mut self, meaning: &'static str) -> Self {
        self.conflict = Some(meaning);
        self
    }

    const fn not_allowed(mut self, meaning: &'static str) -> Self {
        self.not_allowed = Some(meaning);
        self
    }

    const fn unavailable(mut self, meaning: &'static str) -> Self {
        self.unavailable = Some(meaning);
        self
    }

    const fn goes_on(mut self) -> Self {
        self.goes_on = true;
        self
    }

    const fn offline(mut self) -> Self {
        self.connects = false;
        self
    }

    /// Returns the exit codes of the command, ascending.
    fn exits(&self) -> BTreeSet<Exit> {
        let is_possible = |exit: &Exit| match exit {
            Exit::Rejected => self.rejected.is_some(),
            Exit::Conflict => self.conflict.is_some(),
            Exit::NotAllowed | Exit::Unavailable => self.connects,
            Exit::Success | Exit::Unexpected | Exit::Usage => true,
        };
        Exit::ALL.into_iter().filter(is_possible).collect()
    }

    /// Returns the meaning of an exit code of this command.
    fn meaning(&self, exit: Exit) -> String {
        let general = meaning(exit);
        let with = |kind: &str, meaning: Option<&str>| match meaning {
            Some(meaning) => format!("{kind}: {meaning}"),
            None => general.to_owned(),
        };
        let or = |meaning: Option<&str>| match meaning {
            Some(meaning) => format!("{general}; or {meaning}"),
            None => general.to_owned(),
        };
        match exit {
            Exit::Success => self.success.to_owned(),
            Exit::Unexpected | Exit::Usage => general.to_owned(),
            Exit::Rejected => with("rejected", self.rejected),
            Exit::Conflict => with("conflict", self.conflict),
            Exit::NotAllowed => or(self.not_allowed),
            Exit::Unavailable => with("unavailable", self.unavailable),
        }
    }
}

/// Returns the meaning that an exit code has for all commands.
fn meaning(exit: Exit) -> &'static str {
    match exit {
        Exit::Success => "success",
        Exit::Unexpected => "unexpected error, such as a full disk or a malformed response",
        Exit::Usage => "the command line or its environment is invalid",
        Exit::Rejected => "rejected: something is invalid, missing or damaged",
        Exit::Conflict => "conflict: the state of the registry does not allow this",
        Exit::NotAllowed => {
            "not allowed: the token is invalid or lacks the scope, the registry does not trust the CI job, or there \
             is no admin API at this URL"
        }
        Exit::Unavailable => {
            "unavailable: the registry or its storage cannot be reached or does not respond; run the command again"
        }
    }
}

const PUBLISHED: &str = "published, or already published with the same bytes";
const INVALID_RELEASE: &str = "the release is invalid; every reason is printed";
const OTHER_BYTES: &str = "the version is already published with other bytes";
const MIRRORED: &str =
    "every version is published, or already was with the same bytes; skipped parts are listed";
const OTHER_MIRRORED_BYTES: &str = "a version is already published with other bytes";
const OTHER_PUBLISHED_BYTES: &str =
    "a version is already published with other bytes; the others are published";
const ORIGIN_FORBIDS: &str = "an origin does not allow the download";
const ORIGIN_UNAVAILABLE: &str = "the registry, its storage or an origin cannot be reached or does not respond; run the \
                                  command again";
const NO_SUCH_KEY: &str = "the namespace has no such key";
const NO_SUCH_KEY_OR_CHANGED: &str = "the namespace has no such key; or another request changed the status of the key at \
                                      the same time: run the command again";
const NO_SUCH_PACKAGE_OR_TOO_MANY: &str = "the package or version does not exist; or too many versions of the package have \
                                           a status: deprecate the package instead";
const NO_SUCH_NAMESPACE: &str =
    "the namespace has no packages, or the registry is too old to have a catalogue";
const NO_SUCH_VERSION: &str =
    "the package or version does not exist, or the registry is too old to have a catalogue";
const NO_CATALOGUE: &str =
    "the registry does not accept the search, or is too old to have a catalogue";
const NO_SUCH_PACKAGE: &str = "the package or version does not exist";

const INVALID_RULE: &str =
    "the rule is invalid: it does not identify whom it trusts, or grants too much";
const NO_RULE: &str = "the registry has no rule with one of the IDs that this token may manage";

/// An entry for each command without subcommands.
const ENTRIES: [Entry; 56] = [
    Entry::new("list", "terrace list acme", "listed").rejected(NO_SUCH_NAMESPACE),
    Entry::new("show", "terrace show acme/vpc/aws 1.2.0", "shown").rejected(NO_SUCH_VERSION),
    Entry::new(
        "search",
        "terrace search network --kind module",
        "searched, also if nothing matches",
    )
    .rejected(NO_CATALOGUE),
    Entry::new(
        "publish provider",
        "terrace publish provider dist --namespace acme",
        PUBLISHED,
    )
    .rejected(INVALID_RELEASE)
    .conflict(OTHER_BYTES),
    Entry::new(
        "publish module",
        "terrace publish module . --address acme/vpc/aws --version 1.2.3",
        PUBLISHED,
    )
    .rejected(INVALID_RELEASE)
    .conflict(OTHER_BYTES),
    Entry::new(
        "publish modules",
        "terrace publish modules . --address 'acme/{name}/{system}' --dry-run",
        "every version is published, or already was with the same bytes",
    )
    .rejected("a version is invalid, or there is no module or version; every reason is printed")
    .conflict(OTHER_PUBLISHED_BYTES)
    .goes_on(),
    Entry::new(
        "docs add",
        "terrace docs add acme/vpc/aws 1.2.3 .",
        "the registry has the documentation, or already had it",
    )
    .rejected("the documentation is invalid, there is none in the directory, the version is not published, or the registry is too old to store documentation")
    .conflict("another request changed the documentation at the same time: run the command again"),
    Entry::new("docs check", "terrace docs check .", "nothing was found")
        .rejected("something should be corrected; every line names a file")
        .offline(),
    Entry::new(
        "docs preview",
        "terrace docs preview docs",
        "the preview was shown",
    )
    .rejected("the documentation cannot be read")
    .offline(),
    Entry::new(
        "key add",
        "terrace key add acme publisher.asc",
        "the keys in the file may sign for the namespace",
    )
    .rejected("the file is unreadable or not a public key, or the namespace has too many keys"),
    Entry::new("key list", "terrace key list acme", "listed"),
    Entry::new(
        "key retire",
        "terrace key retire acme 0123456789ABCDEF --reason 'replaced by a new key'",
        "retired",
    )
    .rejected(NO_SUCH_KEY_OR_CHANGED),
    Entry::new(
        "key revoke",
        "terrace key revoke acme 0123456789ABCDEF --reason 'the private key leaked'",
        "revoked",
    )
    .rejected(NO_SUCH_KEY_OR_CHANGED),
    Entry::new(
        "key restore",
        "terrace key restore acme 0123456789ABCDEF --reason 'retired by mistake'",
        "active again",
    )
    .rejected(NO_SUCH_KEY_OR_CHANGED),
    Entry::new(
        "key remove",
        "terrace key remove acme 0123456789ABCDEF",
        "removed",
    )
    .rejected(NO_SUCH_KEY),
    Entry::new(
        "release deprecate",
        "terrace release deprecate acme/widget --reason 'use acme/gadget instead'",
        "deprecated",
    )
    .rejected(NO_SUCH_PACKAGE_OR_TOO_MANY),
    Entry::new(
        "release withdraw",
        "terrace release withdraw acme/widget@1.2.0 --reason 'deletes tags: use 1.2.1'",
        "withdrawn",
    )
    .rejected(NO_SUCH_PACKAGE_OR_TOO_MANY),
    Entry::new(
        "release revoke",
        "terrace release revoke acme/widget@1.2.0 --reason 'contains a credential'",
        "revoked",
    )
    .rejected(NO_SUCH_PACKAGE),
    Entry::new(
        "release restore",
        "terrace release restore acme/widget@1.2.0 --reason 'deprecated by mistake'",
        "active again",
    )
    .rejected(NO_SUCH_PACKAGE),
    Entry::new("release show", "terrace release show acme/widget", "shown")
        .rejected("the package or version does not exist"),
    Entry::new(
        "admin audit",
        "terrace admin audit --since 24h",
        "shown; with --verify, no entry is missing or changed",
    )
    .rejected("with --verify, an entry is missing or changed; with --copy, the copy is not intact"),
    Entry::new(
        "admin reindex",
        "terrace admin reindex",
        "the indices agree with the stored releases",
    )
    .rejected("a published release is missing, or nothing is published as the package"),
    Entry::new(
        "admin verify",
        "terrace admin verify",
        "everything stored is intact",
    )
    .rejected("something is missing, changed or damaged; every line names it"),
    Entry::new(
        "admin gc",
        "terrace admin gc --older-than 30d --yes",
        "done; without --yes, the archives and blobs are only listed",
    )
    .rejected("a document is missing or not understood, so nothing is removed"),
    Entry::new(
        "admin erase",
        "terrace admin erase acme/vpc/aws@1.2.0 --reason 'a leaked key' --yes",
        "erased; without --yes, everything is only listed",
    )
    .rejected("the version, archive, manifest or blob does not exist, or everything is in use elsewhere, or a document is not understood; nothing is erased"),
    Entry::new(
        "admin export",
        "terrace admin export backup",
        "the copy is complete",
    )
    .rejected("something is missing, changed or damaged, or the directory is not a copy of this registry; an older copy stays unchanged"),
    Entry::new(
        "admin import",
        "terrace admin import backup",
        "imported, or already in the registry",
    )
    .rejected("something in the directory or at the other registry is invalid, missing or damaged, or nothing there can be imported, or a version in the copy of a boring-registry is already published with other bytes")
    .conflict("the registry has a different document or version of the same name, and keeps it")
    .not_allowed("the other registry denies access")
    .unavailable("this registry or the other one cannot be reached or does not respond"),
    Entry::new(
        "token create",
        "terrace token create --name ci --scope publish:acme --expires 90d",
        "the token is on standard output",
    )
    .rejected("the lifetime is too short or too long"),
    Entry::new(
        "token list",
        "terrace token list --expiring 14d",
        "listed",
    ),
    Entry::new(
        "token revoke",
        "terrace token revoke 7f3a9c2e51b04d68",
        "revoked",
    )
    .rejected("the registry has no record of a token with one of the IDs, and revoked the ID anyway; or of no token of the person"),
    Entry::new(
        "token rotate",
        "terrace token rotate 7f3a9c2e51b04d68 --overlap 24h",
        "the new token is on standard output",
    )
    .rejected("there is no token with this ID, or the overlap is too long")
    .conflict("the old token is already expired or revoked, or its successor was itself rotated"),
    Entry::new(
        "webhook add",
        "terrace webhook add 'https://hooks.slack.com/services/…' --events publish,status --format slack",
        "the secret is on standard output",
    )
    .rejected("the URL is not an https URL of a public host")
    .conflict("the registry has as many webhooks as it may have"),
    Entry::new("webhook list", "terrace webhook list", "listed"),
    Entry::new(
        "webhook test",
        "terrace webhook test 7f3a9c2e51b04d68",
        "the receiver accepted the test event",
    )
    .rejected("there is no webhook with this ID, or the receiver did not accept the event"),
    Entry::new(
        "webhook secret",
        "terrace webhook secret 7f3a9c2e51b04d68",
        "the secret is on standard output",
    )
    .rejected("there is no webhook with this ID"),
    Entry::new(
        "webhook remove",
        "terrace webhook remove 7f3a9c2e51b04d68",
        "removed",
    )
    .rejected("there is no webhook with this ID"),
    Entry::new(
        "trust add",
        "terrace trust add --scope publish:acme --github acme/infra --ref 'refs/tags/*'",
        "the rule is stored, or an equal one was before",
    )
    .rejected(INVALID_RULE),
    Entry::new("trust list", "terrace trust list", "listed"),
    Entry::new(
        "trust remove",
        "terrace trust remove 7f3a9c2e51b04d68",
        "removed",
    )
    .rejected(NO_RULE),
    Entry::new(
        "role add",
        "terrace role add --scope read --claim groups=platform",
        "the rule is stored, or an equal one was before",
    )
    .rejected(INVALID_RULE),
    Entry::new("role list", "terrace role list", "listed"),
    Entry::new(
        "role remove",
        "terrace role remove 7f3a9c2e51b04d68",
        "removed",
    )
    .rejected(NO_RULE),
    Entry::new(
        "mirror add",
        "terrace mirror add registry.opentofu.org/hashicorp/random --versions '~> 3.6'",
        MIRRORED,
    )
    .rejected("a package is invalid, or the version or platform does not exist")
    .conflict(OTHER_MIRRORED_BYTES)
    .not_allowed(ORIGIN_FORBIDS)
    .unavailable(ORIGIN_UNAVAILABLE)
    .goes_on(),
    Entry::new(
        "mirror sync",
        "terrace mirror sync .terraform.lock.hcl",
        MIRRORED,
    )
    .rejected("a file or a package is invalid, or a version or platform does not exist")
    .conflict(OTHER_MIRRORED_BYTES)
    .not_allowed(ORIGIN_FORBIDS)
    .unavailable(ORIGIN_UNAVAILABLE)
    .goes_on(),
    Entry::new("mirror push", "terrace mirror push mirror", MIRRORED)
        .rejected("the directory or a version in it is invalid")
        .conflict(OTHER_MIRRORED_BYTES)
        .goes_on(),
    Entry::new(
        "mirror list",
        "terrace mirror list registry.opentofu.org/hashicorp",
        "listed",
    ),
    Entry::new(
        "mirror block",
        "terrace mirror block registry.opentofu.org/hashicorp/null@3.2.0 --reason 'it leaks variables'",
        "blocked, or already blocked",
    )
    .rejected("it is a provider of this registry, or too many versions are blocked: block the provider instead"),
    Entry::new(
        "mirror unblock",
        "terrace mirror unblock registry.opentofu.org/hashicorp/null@3.2.0",
        "not blocked any more, or it was not",
    )
    .rejected("it is a provider of this registry"),
    Entry::new("mirror blocks", "terrace mirror blocks", "listed"),
    Entry::new(
        "mirror remove",
        "terrace mirror remove registry.opentofu.org/hashicorp/null@3.2.0 --reason 'a takedown'",
        "listed; with --yes, removed",
    )
    .rejected("the provider or version does not exist, or a document is not understood; nothing is removed"),
    Entry::new(
        "config check",
        "terrace config check wrangler.toml",
        "a registry with this configuration starts; warnings are printed",
    )
    .rejected("the configuration is invalid; every reason is printed")
    .offline(),
    Entry::new(
        "login",
        "terrace login https://registry.example.com",
        "signed in; the token is stored",
    )
    .rejected("the registry offers no sign-in, or the file with the tokens is not valid"),
    Entry::new(
        "logout",
        "terrace logout https://registry.example.com",
        "the token is removed, and revoked if the registry can",
    )
    .rejected("no token is stored for the registry, or the file with the tokens is not valid"),
    Entry::new("whoami", "terrace whoami", "shown")
        .rejected("the registry is too old to describe a token"),
    Entry::new("profile list", "terrace profile list", "listed").offline(),
    Entry::new(
        "completion",
        "terrace completion bash",
        "the script is on standard output",
    )
    .offline(),
];

/// Adds an example and the exit codes to the help of a command and of all its subcommands.
pub(super) fn describe(command: Command) -> Command {
    describe_below("", command)
}

fn describe_below(path: &str, command: Command) -> Command {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path} {name}"),
    };
    let command = command.mut_subcommands(|inner| {
        let path = below(inner.get_name());
        describe_below(&path, inner)
    });
    match text(path) {
        Some(text) => command.after_help(text),
        None => command,
    }
}

/// Returns the end of the help of the command or the group of commands at a path.
///
/// The help of a group has the example of its first command, and the exit codes of all of its commands.
fn text(path: &str) -> Option<String> {
    if let Some(entry) = ENTRIES.iter().find(|entry| entry.path == path) {
        let exits = entry.exits();
        let mut text = sections(entry, "Exit codes:", &exits, |exit| entry.meaning(exit));
        if entry.goes_on {
            let possible = |exit: &&Exit| exits.contains(exit);
            let order = Exit::BY_URGENCY.iter().filter(possible);
            let order: Vec<String> = order.map(|exit| exit.code().to_string()).collect();
            let note = format!(
                "If versions fail in several ways, the exit code is the first of these: {}.",
                order.join(", ")
            );
            text.push('\n');
            push(&mut text, "", "", &note);
        }
        return Some(text);
    }
    let is_below = |entry: &&Entry| {
        path.is_empty()
            || entry
                .path
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with(' '))
    };
    let entries: Vec<&Entry> = ENTRIES.iter().filter(is_below).collect();
    let exits = entries.iter().flat_map(|entry| entry.exits()).collect();
    let title = "Exit codes (the help of each command lists its own):";
    let first = entries.first()?;
    Some(sections(first, title, &exits, |exit| {
        meaning(exit).to_owned()
    }))
}

fn sections(
    entry: &Entry,
    title: &str,
    exits: &BTreeSet<Exit>,
    meaning: impl Fn(Exit) -> String,
) -> String {
    let mut text = format!("Example:\n  {}\n\n{title}\n", entry.example);
    for exit in exits {
        let first = format!("  {}  ", exit.code());
        push(&mut text, &first, "     ", &meaning(*exit));
    }
    text
}

/// Adds the lines of a paragraph.
fn push(text: &mut String, first: &str, next: &str, paragraph: &str) {
    for line in wrap(paragraph, WIDTH, first, next) {
        text.push_str(&line);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
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
            for exit in [Exit::NotAllowed, Exit::Unavailable] {
                let below = |it: &&Entry| it.path.starts_with(path.as_str());
                let connects = ENTRIES.iter().filter(below).any(|it| it.connects);
                assert_eq!(lists(exit), connects, "{path}: {help}");
            }
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
}
