pub mod fixtures;
pub mod memory;
pub mod raw;
pub mod registry;

pub use fixtures::{ModuleFixture, ProviderFixture};
pub use registry::{Registry, Response};
