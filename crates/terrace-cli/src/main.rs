//! The `terrace` command: publishes providers and modules to a Terrace registry.
//!
//! # In scope
//! Finding what is to be published, the core's checks of it before anything is sent, and sending
//! it: a description to the admin API, archives to where the registry says.
//!
//! # Out of scope
//! Deciding what may be published. `terrace-core` does, so this program refuses what the registry
//! would refuse, and the registry still has the last word.

mod admin;
mod archive;
mod args;
mod audit;
mod client;
mod clock;
mod connection;
mod dist;
mod download;
mod error;
mod http;
mod inspect;
mod job_identity;
mod keys;
mod mirror;
mod misread;
mod module;
mod origin;
mod output;
mod pack;
mod parallel;
mod provider;
mod publish;
mod reference;
mod release;
mod secrets;
mod source;
mod token_source;
mod tokens;
mod upload;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use terrace_core::auth::access::Scopes;

use crate::args::{
    AdminCommand, Arguments, Command, KeyCommand, MirrorCommand, PublishCommand, RegistryArguments,
    ReleaseCommand, TokenCommand,
};
use crate::error::Failure;
use crate::output::Output;
use crate::secrets::Secrets;

fn main() -> ExitCode {
    let given: Vec<OsString> = std::env::args_os().collect();
    let secrets = Secrets::find(&given, std::env::vars_os());
    let arguments = match Arguments::try_parse_from(&given) {
        Ok(arguments) => arguments,
        Err(error) => return misread::tell(error, &given, secrets),
    };
    let output = Output::new(arguments.json, arguments.quiet, secrets);
    match run(&arguments, &output).and_then(|()| output.printed()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(arguments: &Arguments, output: &Output) -> Result<(), Failure> {
    let registry = &arguments.registry;
    match &arguments.command {
        Command::Publish(PublishCommand::Provider(provider)) => {
            provider::publish(provider, registry, output)
        }
        Command::Publish(PublishCommand::Module(module)) => {
            module::publish(module, registry, output)
        }
        Command::Mirror(MirrorCommand::Add(add)) => mirror::pull::add(add, registry, output),
        Command::Mirror(MirrorCommand::Sync(sync)) => mirror::pull::sync(sync, registry, output),
        Command::Mirror(MirrorCommand::Push(push)) => mirror::push::push(push, registry, output),
        Command::Key(KeyCommand::Add { namespace, file }) => {
            keys::add(namespace, file, registry, output)
        }
        Command::Key(KeyCommand::List { namespace }) => keys::list(namespace, registry, output),
        Command::Key(KeyCommand::Retire(saying)) => keys::say(saying, "retired", registry, output),
        Command::Key(KeyCommand::Revoke(saying)) => keys::say(saying, "revoked", registry, output),
        Command::Key(KeyCommand::Restore(saying)) => keys::say(saying, "active", registry, output),
        Command::Key(KeyCommand::Remove { namespace, key_id }) => {
            keys::remove(namespace, *key_id, registry, output)
        }
        Command::Admin(AdminCommand::Audit {
            since,
            verify,
            copy,
        }) => {
            let log = audit::Log::of(copy.as_deref(), registry);
            audit::audit(*since, *verify, &log, output)
        }
        Command::Release(release) => say(release, registry, output),
        Command::Token(TokenCommand::Create {
            name,
            scopes,
            expires,
        }) => {
            let scopes = Scopes::new(scopes.clone());
            let scopes = scopes.map_err(|error| Failure::Usage(error.to_string()))?;
            tokens::create(name, &scopes, expires.limit(), registry, output)
        }
        Command::Token(TokenCommand::List) => tokens::list(registry, output),
        Command::Token(TokenCommand::Revoke { ids }) => tokens::revoke(ids, registry, output),
        Command::Token(TokenCommand::Rotate { id, overlap }) => {
            tokens::rotate(*id, *overlap, registry, output)
        }
        Command::Admin(AdminCommand::Reindex { package, losses }) => {
            admin::reindex::reindex(package.as_deref(), &losses.accepted, registry, output)
        }
        Command::Admin(AdminCommand::Verify {
            quick,
            copy,
            losses,
        }) => admin::verify::verify(*quick, copy.as_deref(), &losses.accepted, registry, output),
        Command::Admin(AdminCommand::Gc {
            older_than,
            yes,
            losses,
        }) => admin::garbage::collect(*older_than, *yes, &losses.accepted, registry, output),
        Command::Admin(AdminCommand::Export { dir, losses }) => {
            admin::export::export(dir, &losses.accepted, registry, output)
        }
        Command::Admin(AdminCommand::Import { dir }) => {
            admin::import::import(dir, registry, output)
        }
    }
}

fn say(
    command: &ReleaseCommand,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let (state, saying) = match command {
        ReleaseCommand::Show { address } => return release::show(address, registry, output),
        ReleaseCommand::Deprecate(saying) => ("deprecated", saying),
        ReleaseCommand::Withdraw(saying) => ("withdrawn", saying),
        ReleaseCommand::Revoke(saying) => ("revoked", saying),
        ReleaseCommand::Restore(saying) => ("active", saying),
    };
    let takes_version = matches!(state, "withdrawn" | "revoked");
    if takes_version && !saying.address.is_version() {
        let told = format!("{0}: name a version, as in {0}@1.2.0", saying.address);
        return Err(Failure::Usage(told));
    }
    release::say(&saying.address, state, &saying.reason, registry, output)
}
