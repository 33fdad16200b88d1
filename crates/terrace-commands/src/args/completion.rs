//! The command line of `terrace completion`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct CompletionArguments {
    /// The shell to complete the command in
    pub(crate) shell: Shell,
}

/// A shell that completes the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
}
