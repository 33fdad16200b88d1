//! The Model Context Protocol, by which assistants and editors use the registry
//! (<https://modelcontextprotocol.io/specification/2026-07-28>).
//!
//! # In scope
//! - **Messages**: [`receive`] turns the headers and the body of a request into an [`Operation`], or refuses it with the
//!   error of the specification. [`reply`] writes results and errors.
//! - **Tools**: their definitions (`tools.json`), and the parser of their arguments ([`ToolCall`]).
//! - **Answers**: the structured contents of tools: the documents of the API, cut into pages ([`answers`]).
//!
//! # Out of scope
//! Access and storage: the application reads the contents that a caller may see, by the functions that answer the API and
//! the pages.
//!
//! # Revisions
//! Since revision 2026-07-28 the protocol has no sessions: each request states its revision. Clients of older revisions begin
//! with `initialize`, which is answered without a session, so that no request depends on an earlier one.

pub mod answers;
mod arguments;
mod authentication;
mod members;
mod message;
mod page;
pub mod reply;
mod resource;
mod revision;
#[cfg(test)]
mod tests;
mod tools;

pub use arguments::{Question, ToolCall};
pub use authentication::{AuthenticationAnswer, ReadsNeedToken};
pub use message::{
    Incoming, McpError, McpHead, McpRequest, Operation, Refusal, RequestId, check_content_type,
    check_origin, mcp_name_header, receive,
};
pub use page::TextPage;
pub use resource::DocumentResource;
pub use revision::Revision;
pub use tools::Tool;

/// Maximum size of the body of an MCP request, in bytes. The longest arguments are a search and an address, so the rest is
/// room for the metadata of clients. The body is held in wasm memory.
pub const MCP_BODY_BYTES: u64 = 64 * 1024;
