//! OAuth clients with documents of metadata: assistants and editors, which the Model Context Protocol lets sign people in
//! (<https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization>).
//!
//! The ID of such a client is the URL of a document that describes it
//! (<https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/>). The registry fetches it only from the
//! hosts that its operator names, and only for a person who is signed in. A code goes only to the person's own machine.

mod document;
mod host;
mod id;
mod redirect;

pub use document::ClientDocument;
pub use host::ClientHost;
pub use id::ClientId;
pub use redirect::LoopbackRedirect;

/// Maximum length of the URL of an OAuth client: its ID, or the one at which it waits. Both travel to the sign-in provider and
/// back in a URL, next to a code of its own.
const CLIENT_URL_BYTES: usize = 512;
