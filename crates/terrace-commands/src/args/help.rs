//! The end of each command's help: an example, the scopes that suffice, and the exit codes that the command can end with.

mod entries;

use std::collections::BTreeSet;

use clap::Command;
use terrace_core::api::endpoint::{ENDPOINTS, RequiredAccess};
use terrace_core::http::method::Method;

use self::entries::ENTRIES;
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
    /// A meaning of [`Exit::Unexpected`] that other commands do not have.
    unexpected: Option<&'static str>,
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
    /// Whether the command connects to a registry, and fails if it is not allowed to.
    connects: bool,
    /// The action of the registry that requires the most of the token: the name of its endpoint, and the method.
    action: Option<(&'static str, Method)>,
    /// The callers to whom the registry restricts the action beyond its endpoint.
    restricted_to: Option<RequiredAccess>,
    /// The cases in which another scope is required.
    scope_note: Option<&'static str>,
}

impl Entry {
    const fn new(path: &'static str, example: &'static str, success: &'static str) -> Self {
        Self {
            path,
            example,
            success,
            unexpected: None,
            rejected: None,
            conflict: None,
            not_allowed: None,
            unavailable: None,
            goes_on: false,
            connects: true,
            action: None,
            restricted_to: None,
            scope_note: None,
        }
    }

    const fn uses(mut self, endpoint: &'static str, method: Method) -> Self {
        self.action = Some((endpoint, method));
        self
    }

    const fn restricted_to(mut self, access: RequiredAccess) -> Self {
        self.restricted_to = Some(access);
        self
    }

    const fn scope_note(mut self, note: &'static str) -> Self {
        self.scope_note = Some(note);
        self
    }

    /// Returns the scopes that suffice for the command, for people.
    fn scopes(&self) -> Option<String> {
        let scopes = scopes(self.access()?)?;
        Some(match self.scope_note {
            Some(note) => format!("{scopes}; {note}"),
            None => scopes.to_owned(),
        })
    }

    /// Returns the callers who may use the command, by the registry's own table of endpoints.
    fn access(&self) -> Option<RequiredAccess> {
        let (name, method) = self.action?;
        let mut named = ENDPOINTS.iter().filter(|endpoint| endpoint.name == name);
        let action = named.find_map(|endpoint| endpoint.action(method))?;
        Some(self.restricted_to.unwrap_or(action.access))
    }

    const fn unexpected(mut self, meaning: &'static str) -> Self {
        self.unexpected = Some(meaning);
        self
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
            Exit::NotAllowed => self.connects,
            Exit::Unavailable => self.connects || self.unavailable.is_some(),
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
            Exit::Usage => general.to_owned(),
            Exit::Unexpected => or(self.unexpected),
            Exit::Rejected => with("rejected", self.rejected),
            Exit::Conflict => with("conflict", self.conflict),
            Exit::NotAllowed => or(self.not_allowed),
            Exit::Unavailable => with("unavailable", self.unavailable),
        }
    }
}

/// Returns the scopes that suffice for an action; `None` if no token is needed, whatever the configuration.
fn scopes(access: RequiredAccess) -> Option<&'static str> {
    match access {
        RequiredAccess::Anyone | RequiredAccess::Known => None,
        RequiredAccess::Holders => Some("any"),
        RequiredAccess::Readers | RequiredAccess::Searchers => {
            Some("read:<namespace> or read, if the registry requires a token for reads")
        }
        RequiredAccess::Publishers => Some("publish:<namespace>, admin:<namespace> or admin"),
        RequiredAccess::OwnerAdmins | RequiredAccess::AnyAdmins => {
            Some("admin:<namespace> or admin")
        }
        RequiredAccess::Backups => Some("backup or admin"),
        RequiredAccess::Admins => Some("admin"),
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

/// Adds an example, the scopes and the exit codes to the help of a command and of all its subcommands.
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
        let mut title = String::new();
        if let Some(scopes) = entry.scopes() {
            title.push_str("Scope of the token:\n");
            push(&mut title, "  ", "  ", &scopes);
            title.push('\n');
        }
        title.push_str("Exit codes:");
        let mut text = sections(entry, &title, &exits, |exit| entry.meaning(exit));
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
mod tests;
