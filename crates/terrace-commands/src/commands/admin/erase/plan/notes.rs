//! Everything that an erasure leaves or breaks, for people.

use std::collections::BTreeSet;

use super::{Plan, documentation_digest, listed};
use crate::output::Output;

impl Plan {
    /// Returns everything that was erased before or stays, and the consequences for others, one line each.
    pub(crate) fn notes(&self, output: &Output) -> Vec<String> {
        let done = self.done.iter();
        let done = done.map(|(name, time)| format!("{name} was already erased at {time}"));
        let mut lines: Vec<String> = done.collect();
        lines.extend(self.kept_lines(output));
        lines.extend(self.broken.iter().map(|(key, users)| {
            match documentation_digest(key).is_some() {
                true => format!(
                    "the documentation of {} is removed, because it is {key}: add it again without the secret (terrace docs add)",
                    listed(users)
                ),
                false => format!(
                    "{} cannot be installed or pulled without {key}: erase this as well",
                    listed(users)
                ),
            }
        }));
        lines
    }

    /// Returns everything that stays, with the commands that erase it, one line each.
    pub(super) fn kept_lines(&self, output: &Output) -> Vec<String> {
        let erase = |what: &str| {
            output.command(format_args!(
                "admin erase {what} --everywhere --reason REASON"
            ))
        };
        let line = |(key, users): (&String, &BTreeSet<String>)| {
            let users = listed(users);
            let is_layer = !key.contains('/') && !self.named.contains(key);
            match is_layer {
                // Once its manifest is erased, a repeated command does not know the layer.
                true => format!(
                    "{key} stays, because {users} also has it: with --everywhere it is erased there as well; later, `{}` \
                     does it",
                    erase(&format!("--blob {key}"))
                ),
                false => format!(
                    "{key} stays, because {users} also has it: with --everywhere it is erased there as well"
                ),
            }
        };
        let documentation = |(key, users): (&String, &BTreeSet<String>)| {
            let digest = documentation_digest(key).map(|it| it.to_string());
            format!(
                "{key} stays, because it is also the documentation of {}: to erase it there as well, run `{}`",
                listed(users),
                erase(&format!("--archive {}", digest.unwrap_or_default()))
            )
        };
        let kept = self.kept.iter().map(line);
        kept.chain(self.kept_documentation.iter().map(documentation))
            .collect()
    }
}
