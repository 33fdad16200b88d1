//! The pages of the registry in a browser.
//!
//! # In scope
//! - **Documents**: [`markdown`] turns Markdown from strangers into HTML that contains allowed elements only.
//! - **Code**: [`highlight`] marks the parts of Terraform code.
//!
//! # Out of scope
//! Storage, access and HTTP: texts and addresses are arguments.
//!
//! # Hostile input
//! Nothing fails and nothing is recursive. Time and output grow linearly with the input. Every byte of a document
//! reaches the output through [`escape`], and every tag is written by this crate.

mod escape;
pub mod highlight;
pub mod limits;
pub mod markdown;
