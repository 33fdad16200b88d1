//! `terrace completion`.

use std::io;

use clap::Args;
use clap_complete::{Shell, generate};

use crate::commands::command_line;
use crate::error::Failure;
use crate::output::Output;

/// Print a script that completes this command in a shell
#[derive(Debug, Args)]
#[command(after_help = "Example: terrace completion bash")]
pub(crate) struct CompletionArguments {
    /// The shell to complete the command in
    pub(crate) shell: Shell,
}

/// Completes the script for bash: where a file can be given, flags are offered only after a dash, so that bash completes
/// the name of the file.
const FILES_IN_BASH: &str = r#"
_terrace_words_or_files() {
    _terrace "$@"
    local current="${COMP_WORDS[COMP_CWORD]}" word words=()
    if [[ "${current}" != -* ]]; then
        for word in "${COMPREPLY[@]}"; do
            [[ "${word}" == -* ]] || words+=("${word}")
        done
        COMPREPLY=("${words[@]}")
    fi
}

complete -F _terrace_words_or_files -o bashdefault -o default terrace
"#;

/// Prints the script.
pub(crate) fn run(arguments: &CompletionArguments, output: &Output) -> Result<(), Failure> {
    let script = script(arguments.shell).map_err(|error| Failure::Unexpected(error.to_string()))?;
    let document = serde_json::json!({ "status": "ok", "script": script });
    output.text(&script, &document);
    Ok(())
}

fn script(shell: Shell) -> io::Result<String> {
    let mut command = command_line::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(shell, &mut command, name, &mut script);
    let script = String::from_utf8(script).map_err(io::Error::other)?;
    Ok(match shell {
        Shell::Bash => script + FILES_IN_BASH,
        _ => script,
    })
}
