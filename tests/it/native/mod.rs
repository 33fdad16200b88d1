mod config;
mod counts;
mod faults;
mod oci;
mod presigned;
mod pull;
mod races;
mod rings;
