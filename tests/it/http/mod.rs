mod admin;
mod archives;
mod discovery;
mod hostile;

mod keys;
mod mirror;
mod modules;
mod oci;
mod oci_push;
mod providers;
mod publish_mirrored;
mod publish_module;
mod publish_provider;
