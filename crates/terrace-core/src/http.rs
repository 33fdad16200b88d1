//! Requests and replies, without a platform: methods, cache policies, errors, byte ranges, the request log
//! line.

pub mod accept;
pub mod cookie;
pub mod form;
pub mod guard;
pub mod idempotency_key;
pub mod log_fields;
pub mod method;
pub mod oci_error;
pub mod problem;
pub mod range;
pub mod reply;
pub mod request_line;
