//! `terrace admin`: audit log, repair, verification, garbage collection, export, import and second bucket of a registry.

mod audit;
mod backup;
mod difference;
pub(crate) mod erase;
mod export;
mod failover;
mod garbage;
mod import;
mod loss;
mod pushed;
mod registry_import;
pub(crate) mod reindex;
mod replicate;
pub(crate) mod stored;
mod verify;

use crate::args::{AdminCommand, RegistryArguments};
use crate::error::Failure;
use crate::output::Output;

/// Executes the command.
pub(crate) fn run(
    command: &AdminCommand,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    match command {
        AdminCommand::Audit {
            since,
            verify,
            copy,
        } => {
            let log = audit::Log::of(copy.as_deref(), registry);
            audit::audit(*since, *verify, &log, output)
        }
        AdminCommand::Reindex {
            package,
            full,
            losses,
        } => {
            let extent = reindex::Extent {
                package: package.as_deref(),
                is_full: *full,
            };
            reindex::reindex(extent, &losses.accepted, registry, output)
        }
        AdminCommand::Verify {
            quick,
            copy,
            losses,
        } => verify::verify(*quick, copy.as_deref(), &losses.accepted, registry, output),
        AdminCommand::Gc {
            older_than,
            yes,
            losses,
        } => garbage::collect(*older_than, *yes, &losses.accepted, registry, output),
        AdminCommand::Erase(arguments) => erase::erase(arguments, registry, output),
        AdminCommand::Replicate { dry_run } => replicate::replicate(*dry_run, registry, output),
        AdminCommand::Failover(command) => failover::failover(command, registry, output),
        AdminCommand::Export { dir, losses } => {
            export::export(dir, &losses.accepted, registry, output)
        }
        AdminCommand::Import { dir: None, from } => registry_import::import(from, registry, output),
        AdminCommand::Import { dir: Some(dir), .. } => import::import(dir, registry, output),
    }
}
