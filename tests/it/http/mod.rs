mod admin;
mod archives;
mod discovery;
mod hostile;

mod keys;
mod modules;
mod providers;
mod publish_module;
mod publish_provider;
