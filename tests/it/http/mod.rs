mod admin;
mod hostile;
mod mirror;
mod oci;
mod pages;
mod publish;
mod registry;
