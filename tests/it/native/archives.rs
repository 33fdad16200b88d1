//! Archives in the bucket: who may refer to them, when they are removed, and how their URLs are signed.

mod checksum_files;
mod copies;
mod documentation;
mod edge;
mod erased_documentation;
mod erasure;
mod failover;
mod garbage;
mod presigned;
mod staging;
