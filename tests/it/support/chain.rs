//! The audit log as it lies in the bucket.

use terrace_core::maintenance::audit::{AuditChain, AuditEntry, AuditHead};

use super::memory::Memory;

/// All entries, of which each must follow from the one before. Its head is never ahead of them.
#[track_caller]
pub fn entries(memory: &Memory) -> Vec<AuditEntry> {
    let mut chain = AuditChain::default();
    let objects = memory.objects();
    let texts = objects.iter().filter(|(key, _)| key.starts_with("audit/"));
    let texts = texts.map(|(_, bytes)| str::from_utf8(bytes).unwrap());
    let entries: Vec<AuditEntry> = texts.map(|text| chain.follow(text).unwrap()).collect();
    if let Some(head) = objects.get("audit-head") {
        let head: AuditHead = serde_json::from_slice(head).unwrap();
        assert!(head.number <= chain.length(), "{head:?}");
    }
    entries
}

/// Whether this is a document of the log.
pub fn is_log(key: &str) -> bool {
    key.starts_with("audit/") || key == "audit-head"
}
