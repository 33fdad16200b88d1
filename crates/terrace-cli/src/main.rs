//! The `terrace` command: publishes providers and modules to a Terrace registry.
//!
//! # In scope
//! Finding the release to publish, the core's checks before anything is sent, and sending it: a description
//! to the admin API, and archives to the URLs that the registry names.
//!
//! # Out of scope
//! The decision whether a release may be published. `terrace-core` makes it, so this program rejects
//! everything that the registry would reject, and the registry still has the final decision.

mod archive;
mod args;
mod clock;
mod commands;
mod credentials;
mod error;
mod http;
mod output;
mod parallel;
mod profile;
mod random;
mod registry;
mod source;
mod upstream;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::args::usage_error;
use crate::output::Output;
use crate::output::secrets::Secrets;

fn main() -> ExitCode {
    let given: Vec<OsString> = std::env::args_os().collect();
    let secrets = Secrets::find(&given, std::env::vars_os());
    let arguments = match args::parse(&given) {
        Ok(arguments) => arguments,
        Err(error) => return usage_error::report(error, &given, secrets),
    };
    let output = Output::new(arguments.json, arguments.verbosity(), secrets);
    let output = output.with_registry(arguments.registry.options());
    let is_read_only = arguments.command.is_read_only();
    let ended = commands::run(&arguments, &output).and_then(|()| output.printed(is_read_only));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit().code())
        }
    }
}
