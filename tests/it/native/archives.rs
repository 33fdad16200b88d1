//! Archives in the bucket: who may use them, how long they are kept, and how they are signed.

mod garbage;
mod incoming;
mod presigned;
