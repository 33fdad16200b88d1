mod admin;
mod hostile;
mod mirror;
mod oci;
mod publish;
mod registry;
