//! What the core takes in instructions, counted by callgrind: `npm run instructions`.
//!
//! Each benchmark runs once, in a process of its own, and says the same each time: what is counted is what
//! the compiler has made, and not how fast a machine is. Only the benchmarked function counts: what it is
//! given is made before. `baseline.json` beside this file is what the numbers are compared with.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "what is benchmarked is made here and right"
)]

mod access;
mod arena;
mod documents;
mod hashes;
mod indices;
mod reads;
mod releases;
mod routes;
mod signing;

use gungraun::main;

use access::credentials;
use arena::Arena;
use documents::stored_documents;
use hashes::package_hashes;
use indices::index_functions;
use reads::read_machine;
use routes::paths;
use signing::urls;

#[global_allocator]
static ARENA: Arena = Arena::new();

main!(
    library_benchmark_groups = [
        paths,
        credentials,
        urls,
        package_hashes,
        stored_documents,
        index_functions,
        read_machine,
    ]
);
