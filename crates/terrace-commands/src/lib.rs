//! The commands of `terrace`, which publishes providers and modules to a Terrace registry and operates it.
//!
//! # In scope
//! Finding the release to publish, the core's checks before anything is sent, and sending it: a description
//! to the admin API, and archives to the URLs that the registry names.
//!
//! # Out of scope
//! The decision whether a release may be published. `terrace-core` makes it, so this program rejects
//! everything that the registry would reject, and the registry still has the final decision.
//!
//! The server of `terrace serve`: it is an argument of [`run`], so that this library and the server are compiled side by side.

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

pub use commands::serve::{ServeArguments, Variable, settings};
pub use error::{Exit, Failure, Several};
pub use output::{Output, in_shell};
pub use random::text as random_text;

use crate::commands::command_line::{self, usage_error};
use crate::output::secrets::Secrets;

/// The implementation of `terrace serve`: it serves a registry until the process is told to stop.
pub type Serve = fn(&ServeArguments, &Output) -> Result<(), Failure>;

/// Executes the command line of this process, and returns its exit code.
pub fn run(serve: Serve) -> ExitCode {
    let given: Vec<OsString> = std::env::args_os().collect();
    let secrets = Secrets::find(&given, std::env::vars_os());
    let arguments = match command_line::parse(&given) {
        Ok(arguments) => arguments,
        Err(error) => return usage_error::report(error, &given, secrets),
    };
    let output = Output::new(arguments.json, arguments.verbosity(), secrets);
    let output = output.with_registry(arguments.registry.options());
    let ended = commands::run(&arguments, serve, &output).and_then(|()| output.printed());
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit().code())
        }
    }
}
