//! Helpers for the tests of this module.

use super::{Fetch, Fetched};

/// Returns a request for up to 16 KiB.
pub(super) fn fetch() -> Fetch {
    Fetch {
        base: None,
        reference: "https://origin.example/".to_owned(),
        max_bytes: 1024 * 16,
        with_token: false,
        what: "the test",
    }
}

/// Returns a successful response with this body.
pub(super) fn answer(body: impl AsRef<[u8]>) -> Fetched {
    Fetched {
        status: 200,
        final_url: "https://origin.example/final".to_owned(),
        content_type: Some("application/json".to_owned()),
        body: body.as_ref().to_vec(),
    }
}
