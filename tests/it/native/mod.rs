mod config;
mod counts;
mod faults;
mod presigned;
mod pull;
mod races;
mod rings;
