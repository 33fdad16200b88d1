//! Blobs and their uploads: busy, abandoned, too large.

use super::NAME;
use crate::support::faults::{Failure, When};
use crate::support::memory::Memory;
use crate::support::pushed::{Pushed, code, digest};
use crate::support::registry::{Sent, TOKEN};
use crate::support::{Registry, tokens};

#[test]
fn an_upload_with_a_damaged_chunk_is_rejected_and_ended() {
    let (memory, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, NAME);
    let location = pushed.begin();
    pushed.append(&location, b"bytes").expect(202);
    let id = location.rsplit('/').next().unwrap();
    let chunks = memory.keys_with(&format!("oci/uploads/{id}/"));
    memory.put_object(&chunks[0], b"other bytes");
    let refused = pushed.complete(&location, &digest(b"bytes"), b"");
    assert_eq!(code(&refused.expect(400)), "BLOB_UPLOAD_INVALID");
    pushed.send("GET", &location).expect(404);
}

/// All repositories share the empty config, and storage accepts one write of a key a second.
#[test]
fn a_blob_with_a_busy_key_is_already_stored() {
    let memory = Memory::new();
    let private = [("TERRACE_ACCESS", "private")];
    let registry = Registry::in_memory(&memory, &private);
    let pushed = Pushed::of(&registry, NAME);
    let other = Pushed::of(&registry, "team/other");
    let send = |bytes: &[u8], token: &str| {
        let post = format!("blobs/uploads/?digest={}", digest(bytes));
        let post = Sent::new("POST", &other.path(&post)).body(bytes);
        registry.send(&post.bearing(token)).status
    };
    let (_, publisher) = tokens::create(&registry, &["publish:team"], None);
    for bytes in [&b"{}"[..], b"bytes"] {
        memory.fail("R2 put oci/blobs/", 0, When::Before, Failure::Busy);
        assert_eq!(send(bytes, TOKEN), 503, "it is not stored yet");
        pushed.blob(bytes);
    }
    memory.fail("R2 put oci/blobs/", 0, When::Before, Failure::Busy);
    assert_eq!(
        send(b"{}", &publisher),
        201,
        "the empty config is not a secret"
    );
    memory.fail("R2 put oci/blobs/", 0, When::Before, Failure::Busy);
    assert_eq!(send(b"bytes", &publisher), 503, "other bytes may be secret");
    memory.fail("R2 put oci/blobs/", 0, When::Before, Failure::Busy);
    assert_eq!(send(b"bytes", TOKEN), 201);
}

/// Cloudflare would reject the body before it reaches the Worker, with a message that does not help.
#[test]
fn a_body_over_the_limit_of_cloudflare_is_refused_with_a_solution() {
    let (_, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, NAME);
    let send = |length: u64| {
        let location = pushed.begin();
        let put = format!("{location}?digest={}", digest(b"bytes"));
        let put = pushed.request("PUT", &put).body(b"bytes");
        registry.send(&put.header("content-length", &length.to_string()))
    };
    let refused = send(100_000_001).expect(413);
    assert_eq!(code(&refused), "SIZE_INVALID");
    for told in ["100000000 bytes", "chunks", "`terrace publish`"] {
        assert!(refused.text().contains(told), "{}", refused.text());
    }
    send(100_000_000).expect(201);
}

#[test]
fn an_abandoned_upload_is_removed_by_a_later_push() {
    let (memory, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, NAME);
    let uploads = || memory.keys_with("oci/uploads/").len();
    let location = pushed.begin();
    for _ in 0..2 {
        pushed.append(&location, b"bytes").expect(202);
    }
    assert_eq!(uploads(), 3);
    memory.advance(86_400);
    pushed.blob(b"another");
    assert_eq!(uploads(), 3, "less than a day has passed");
    memory.advance(1);
    pushed.blob(b"another");
    assert_eq!(uploads(), 0);
    pushed.send("GET", &location).expect(404);
}

#[test]
fn a_completed_upload_leaves_only_its_blob() {
    let (memory, registry) = Registry::with_memory(&[]);
    let pushed = Pushed::of(&registry, NAME);
    let location = pushed.begin();
    for chunk in [&b"some "[..], b"bytes"] {
        pushed.append(&location, chunk).expect(202);
    }
    let own = digest(b"some bytes");
    pushed.complete(&location, &own, b"").expect(201);
    let hex = own.trim_start_matches("sha256:");
    assert_eq!(
        memory.keys(),
        [
            "format".to_owned(),
            format!("oci/blobs/sha256/{hex}"),
            format!("oci/links/{NAME}:{own}"),
        ]
    );
    pushed
        .complete(&pushed.begin(), &own, b"other bytes")
        .expect(400);
    assert_eq!(memory.keys().len(), 3);
}

#[test]
fn a_registry_without_an_admin_token_rejects_pushes() {
    let memory = Memory::new();
    let vars = [("TERRACE_ADMIN_TOKEN", ""), ("TERRACE_URL_SECRET", TOKEN)];
    let registry = Registry::in_memory(&memory, &vars);
    let pushed = Pushed::of(&registry, NAME);
    let refused = pushed.send("POST", "blobs/uploads/").expect(403);
    assert!(refused.text().contains("TERRACE_ADMIN_TOKEN"));
    registry.get("/v2/").expect(200);
}
