//! The number of instructions of core functions, counted by callgrind: `npm run instructions`.
//!
//! Each benchmark runs once, in its own process, with the same result each time: the result depends on the
//! compiler's output, and not on the speed of the machine. Only the benchmarked function counts; its
//! arguments are built before. The results are compared with `baseline.json` beside this file.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "the benchmarked values are constructed here and valid"
)]

mod access;
mod arena;
mod documents;
mod hashes;
mod indices;
mod reads;
mod releases;
mod routes;
mod search;
mod signing;

use gungraun::main;

use access::credentials;
use arena::Arena;
use documents::stored_documents;
use hashes::package_hashes;
use indices::index_functions;
use reads::read_machine;
use routes::paths;
use search::searches;
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
        searches,
    ]
);
