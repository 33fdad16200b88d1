//! The `terrace` command: publishes providers and modules to a Terrace registry.
//!
//! # In scope
//! Finding what is to be published, the core's checks of it before anything is sent, and sending
//! it: a description to the admin API, archives to where the registry says.
//!
//! # Out of scope
//! Deciding what may be published. `terrace-core` does, so this program refuses what the registry
//! would refuse, and the registry still has the last word.

mod archive;
mod args;
mod clock;
mod commands;
mod error;
mod http;
mod output;
mod parallel;
mod registry;
mod source;
mod upstream;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Arguments, usage_error};
use crate::output::Output;
use crate::output::secrets::Secrets;

fn main() -> ExitCode {
    let given: Vec<OsString> = std::env::args_os().collect();
    let secrets = Secrets::find(&given, std::env::vars_os());
    let arguments = match Arguments::try_parse_from(&given) {
        Ok(arguments) => arguments,
        Err(error) => return usage_error::report(error, &given, secrets),
    };
    let output = Output::new(arguments.json, arguments.quiet, secrets);
    match commands::run(&arguments, &output).and_then(|()| output.printed()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}
