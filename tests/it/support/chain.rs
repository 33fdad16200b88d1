//! The audit log as it is stored in the bucket.

use terrace_core::maintenance::audit::{AuditChain, AuditEntry, AuditHead};

use super::memory::Memory;

/// Returns all entries, each of which must follow from the one before. The log's head is never ahead of them.
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

/// Returns whether this is a document of the audit log.
pub fn is_log(key: &str) -> bool {
    key.starts_with("audit/") || key == "audit-head"
}
