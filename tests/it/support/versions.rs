//! A module with two versions, for tests of concurrent changes.

use super::memory::Memory;
use super::{ModuleFixture, Registry};

/// A module with a published version, and a second one that is uploaded and not published yet. Its indices
/// are lost, so that the next read or repair rebuilds them.
pub struct TwoVersions {
    pub memory: Memory,
    pub registry: Registry,
    pub published: ModuleFixture,
    pub uploaded: ModuleFixture,
}

impl TwoVersions {
    pub fn new() -> Self {
        let memory = Memory::new();
        let registry = Registry::in_memory(&memory, &[]);
        let (published, uploaded) = (
            ModuleFixture::of("acme", "1.0.0"),
            ModuleFixture::of("acme", "1.1.0"),
        );
        published.publish(&registry);
        uploaded.upload(&registry);
        memory.lose_indices();
        Self {
            memory,
            registry,
            published,
            uploaded,
        }
    }

    /// Returns another publisher, who publishes the second version when called.
    pub fn other(&self) -> impl FnOnce() + 'static {
        let registry = Registry::in_memory(&self.memory, &[]);
        let uploaded = self.uploaded.clone();
        move || {
            uploaded.put(&registry).expect(201);
        }
    }
}
