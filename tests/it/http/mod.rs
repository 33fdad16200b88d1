mod admin;
mod hostile;
mod mcp;
mod mirror;
mod oci;
mod pages;
mod publish;
mod registry;
