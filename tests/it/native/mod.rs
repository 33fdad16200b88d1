mod config;
mod counts;
mod faults;
mod presigned;
mod races;
mod rings;
