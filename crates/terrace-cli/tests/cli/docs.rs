//! The documentation of releases, and `terrace docs`.

mod add;
mod check;
mod module;
mod preview;
mod provider;

use terrace_core::documentation::{Contents, Head, ModuleDetails, ProviderDetails};

fn module_details(head: Head) -> ModuleDetails {
    match head.contents {
        Contents::Module(details) => details,
        Contents::Provider(_) => panic!("the details of a provider"),
    }
}

fn provider_details(head: Head) -> ProviderDetails {
    match head.contents {
        Contents::Provider(details) => details,
        Contents::Module(_) => panic!("the details of a module"),
    }
}
