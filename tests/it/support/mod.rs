pub mod chain;
pub mod entry;
pub mod everything;
pub mod faults;
pub mod fixtures;
pub mod issuer;
pub mod memory;
pub mod mirrored;
pub mod people;
pub mod pushed;
pub mod raw;
pub mod registry;
pub mod released;
pub mod schedule;
pub mod tokens;

pub use fixtures::{ModuleFixture, ProviderFixture};
pub use mirrored::MirrorFixture;
pub use registry::{Registry, Response};
