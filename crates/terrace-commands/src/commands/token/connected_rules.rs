//! The stored rules that are connected with a person who leaves.

use std::collections::BTreeSet;

use terrace_core::api::admin::RuleAnswer;
use terrace_core::auth::oidc::RuleKind;
use terrace_core::model::rule_id::RuleId;

use crate::commands::person::{Belongings, Connection};
use crate::output::Output;

/// The stored rules that are connected with a person.
pub(super) struct ConnectedRules<'a>(Vec<(Connection, &'a RuleAnswer)>);

impl<'a> ConnectedRules<'a> {
    /// Finds them.
    pub(super) fn of(belongings: &Belongings<'_>, rules: &'a [RuleAnswer]) -> Self {
        let connected = rules
            .iter()
            .filter_map(|rule| Some((belongings.connection(rule)?, rule)));
        Self(connected.collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the IDs of those of the person. A rule that was added with a token that they created may be another person's.
    pub(super) fn removable(&self) -> Vec<RuleId> {
        let is_removable = |connection: Connection| connection != Connection::AddedWithCreated;
        let rules = self.0.iter().filter(|(it, _)| is_removable(*it));
        rules.map(|(_, rule)| rule.id).collect()
    }

    /// Names those that stay by intention, with the commands that remove them.
    pub(super) fn warn(&self, person: &str, with_rules: bool, output: &Output) {
        for (connection, what) in [
            (Connection::Added, format!("rules that {person} added stay")),
            (
                Connection::Names,
                format!("rules that grant {person} something by name stay"),
            ),
            (
                Connection::AddedWithCreated,
                format!("rules that were added with tokens that {person} created stay"),
            ),
        ] {
            let is_removed = with_rules && connection != Connection::AddedWithCreated;
            let commands = self.removals(connection, output);
            if !is_removed && !commands.is_empty() {
                output.warning(&format!("{what}. To remove them: {}", commands.join("; ")));
            }
        }
    }

    /// Returns the commands that remove the rules with a connection.
    fn removals(&self, connection: Connection, output: &Output) -> Vec<String> {
        let of_kind = |kind: RuleKind| {
            let ids: Vec<String> = self
                .0
                .iter()
                .filter(|(it, rule)| *it == connection && rule.kind == kind)
                .map(|(_, rule)| rule.id.to_string())
                .collect();
            let command = || output.command(format_args!("{kind} remove {}", ids.join(" ")));
            (!ids.is_empty()).then(command)
        };
        [RuleKind::Trust, RuleKind::Role]
            .into_iter()
            .filter_map(of_kind)
            .collect()
    }

    /// Returns the IDs of those that stay after the removal of some.
    pub(super) fn left(&self, removed: &[RuleId]) -> Vec<RuleId> {
        let removed: BTreeSet<&RuleId> = removed.iter().collect();
        let ids = self.0.iter().map(|(_, rule)| rule.id);
        ids.filter(|id| !removed.contains(id)).collect()
    }
}
