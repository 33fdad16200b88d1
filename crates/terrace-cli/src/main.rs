//! The `terrace` command: the commands of [`terrace_commands`], and `serve`, which needs the server.

mod serve;

use std::process::ExitCode;

fn main() -> ExitCode {
    terrace_commands::run(serve::run)
}
