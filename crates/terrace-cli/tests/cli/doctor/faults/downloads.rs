//! Faults of downloads.

use terrace_core::storage::failover::ServingBucket;

use super::{assert_found, found, found_in};
use crate::doctor::sound::{Build, Sound};
use crate::doctor::{checks, doctor};
use crate::support::ended;
use crate::support::http::{Head, Response};

#[test]
fn d1_a_refused_download_is_found_with_the_cause_that_the_storage_states() {
    for (code, cause) in [
        ("SignatureDoesNotMatch", "secret access key"),
        ("InvalidAccessKeyId", "access key"),
        ("AccessDenied", "key pair"),
        ("NoSuchBucket", "bucket"),
        ("NoSuchKey", "another bucket"),
        ("ExpiredRequest", "clock"),
        ("Unknown", "credentials"),
    ] {
        let registry =
            Sound::start(
                move |head, response| match head.target.ends_with("/module.zip") {
                    true => Response::new(403, format!("<Error><Code>{code}</Code></Error>")),
                    false => response,
                },
            );
        let ended = ended(&mut doctor(&registry.url, &["--only", "D,C2"])).expect(3);
        assert_found("D1", "fail", &ended);
        let error = checks(&ended)["D1"]["error"].to_string();
        assert!(error.contains(cause), "{code}: {error}");
    }
}

#[test]
fn d1_a_second_bucket_that_cannot_serve_is_named_with_its_cause() {
    for (status, code, cause, fix) in [
        (404, "NoSuchKey", "no copy", "terrace admin replicate"),
        (403, "AccessDenied", "refuses", "TERRACE_S3_FALLBACK_"),
        (503, "SlowDown", "fails", "failover off"),
    ] {
        let registry =
            Sound::start(
                move |head, response| match head.target.ends_with("/module.zip") {
                    true => Response::new(status, format!("<Error><Code>{code}</Code></Error>")),
                    false => response,
                },
            );
        registry.set_facts(|it| {
            it.failover.as_mut().unwrap().serving = ServingBucket::Fallback;
        });
        let ended = ended(&mut doctor(&registry.url, &["--only", "D1"])).expect(3);
        let check = &checks(&ended)["D1"];
        let (error, action) = (check["error"].to_string(), check["fix"].to_string());
        assert!(
            error.contains("second bucket") && error.contains(cause),
            "{error}"
        );
        assert!(action.contains(fix), "{action}");
    }
}

#[test]
fn d2_to_d4_changes_to_downloads_are_found() {
    let zip = "/package.zip";
    let is_of =
        move |head: &Head, method: &str| head.target.ends_with(zip) && head.method == method;
    found("D2", Build::default(), move |head, response| {
        match is_of(head, "HEAD") {
            true => response.announcing(0),
            false => response,
        }
    });
    found("D3", Build::default(), move |head, mut response| {
        if is_of(head, "GET") && response.status == 200 {
            let last = response.body.last_mut().unwrap();
            *last = last.wrapping_add(1);
        }
        response
    });
    found_in("D4", "/module.zip", |it| match (it.status, it.body.len()) {
        (200, length) => Response {
            body: vec![b'x'; length],
            ..it
        },
        _ => it,
    });
}
