//! Parsing and checking credentials.

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group};
use terrace_base::secret::Secret;
use terrace_core::auth::access::{
    Access, Caller, CredentialsError, ReadPolicy, RevocationDocument, Revocations, Token,
};
use terrace_core::model::token_id::TokenId;

use crate::releases::NOW;

const ADMIN_TOKEN: &str = "0123456789abcdef0123456789abcdef";

pub(crate) fn written(scopes: &str) -> String {
    let token = Token {
        id: "00000000000003e7".parse().unwrap(),
        name: "continuous integration".parse().unwrap(),
        scopes: scopes.parse().unwrap(),
        expires: Some(NOW.plus(600)),
        is_of_previous: false,
        provenance: None,
    };
    registry().keys().unwrap().write(&token)
}

pub(crate) const SCOPES: &str = "read:acme publish:acme";

fn registry() -> Access {
    Access::new(Some(Secret::new(ADMIN_TOKEN)), None, ReadPolicy::default())
}

fn anonymous() -> (Access, String) {
    (registry(), String::new())
}

fn admin() -> (Access, String) {
    (registry(), format!("Bearer {ADMIN_TOKEN}"))
}

fn bearer() -> (Access, String) {
    (registry(), format!("Bearer {}", written(SCOPES)))
}

fn forged() -> (Access, String) {
    (registry(), "Bearer 0123456789abcdef".to_owned())
}

#[library_benchmark]
#[bench::anonymous(anonymous())]
#[bench::admin(admin())]
#[bench::bearer(bearer())]
#[bench::forged(forged())]
fn caller(
    (access, header): (Access, String),
) -> (Result<Caller, CredentialsError>, Access, String) {
    let caller = black_box(access.caller(Some(black_box(&header)), || NOW));
    (caller, access, header)
}

fn revoked(count: u64) -> (Revocations, TokenId) {
    let document = |_| RevocationDocument {
        from: NOW,
        expires: None,
    };
    let id = |number: u64| format!("{number:016x}").parse::<TokenId>().unwrap();
    let all = (0..count).map(|number| (id(number), document(number)));
    (Revocations::of(all, NOW), id(count - 1))
}

#[library_benchmark]
#[bench::of_1000(revoked(1000))]
fn revocation((revocations, id): (Revocations, TokenId)) -> (bool, Revocations) {
    let is_revoked = black_box(revocations.include(black_box(id), NOW));
    (is_revoked, revocations)
}

library_benchmark_group!(name = credentials, benchmarks = [caller, revocation]);
