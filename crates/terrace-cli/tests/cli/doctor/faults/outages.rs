//! Outages, rate limits, and faults that other checks depend on.

use super::{DISCOVERY, assert_found, html};
use crate::doctor::sound::{Sound, http_date, now};
use crate::doctor::{checks, doctor, with_status};
use crate::support::http::{Head, Response};
use crate::support::{Ended, ended};

#[test]
fn a4_a_failing_storage_is_not_blamed_on_the_token() {
    for (status, cause) in [
        (401, "the token is mistyped"),
        (500, "an outage"),
        (503, "an outage"),
    ] {
        let registry = Sound::start(move |head, response| match head.target == "/api/v1/token" {
            true => Response::new(status, "{}"),
            false => response,
        });
        let ended = ended(&mut doctor(&registry.url, &[])).expect(3);
        assert_found("A4", "fail", &ended);
        let error = checks(&ended)["A4"]["error"].to_string();
        assert!(error.contains(cause), "{status}: {error}");
    }
}

#[test]
fn k1_an_outage_of_the_storage_is_one_fault() {
    let registry = Sound::start(|head, response| {
        let parts = ["/v1/", "/api/", "/v2/", "/admin/"];
        let fails = parts.iter().any(|it| head.target.starts_with(it));
        match head.target.as_str() {
            "/healthz" => Response {
                status: 503,
                body: br#"{"kv":"ok","r2":"does not answer"}"#.to_vec(),
                ..response
            },
            _ if fails => Response::new(503, "{}").with("date", http_date(now())),
            _ => response,
        }
    });
    let named = ["--provider", "acme/hello", "--module", "acme/vpc/aws"];
    for arguments in [&[][..], &named] {
        let ended = ended(&mut doctor(&registry.url, arguments)).expect(3);
        assert_found("K1", "fail", &ended);
        for id in ["A1", "A4", "P1", "P4", "M1", "M3", "O1", "R1"] {
            assert_eq!(checks(&ended)[id]["observed"], "K1 failed", "{id}");
        }
    }
}

#[test]
fn t1_a_rate_limit_of_the_first_request_is_a_warning() {
    let registry = Sound::start(|_, _| Response::new(429, "{}").with("retry-after", "17"));
    let ended = ended(&mut doctor(&registry.url, &["--strict"])).expect(1);
    assert_found("T1", "warn", &ended);
}

#[test]
fn a_selection_is_made_alone_and_a_skipped_check_names_the_one_that_failed() {
    let closed = Sound::start(|head, response| match head.target == DISCOVERY {
        true => html(200),
        false => response,
    });
    let ended = ended(&mut doctor(&closed.url, &["--only", "P1,O2"])).expect(0);
    let made: Vec<_> = checks(&ended).into_iter().collect();
    let made = made
        .iter()
        .map(|(id, it)| (&**id, it["observed"].as_str().unwrap()));
    let expected = [("O2", "S2 failed"), ("P1", "S2 failed")];
    assert_eq!(made.collect::<Vec<_>>(), expected);
}

#[test]
fn an_unreachable_registry_decides_about_the_end_of_any_selection_that_needs_it() {
    let ended_by = |url: &str| {
        let mut command = doctor(url, &["--only", "P1"]);
        let ended = ended(command.env_remove("SSL_CERT_FILE")).expect(6);
        assert_eq!(with_status(&ended, "skip"), ["P1"], "{ended:#?}");
        assert_eq!(ended.json()["success"], false);
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    drop(listener);
    ended_by(&url);
    let registry = Sound::start(|_, response| response);
    ended_by(&registry.url);
}

/// Returns the IDs of the checks that are skipped because of a rate limit.
fn limited(ended: &Ended) -> Vec<String> {
    let checks = checks(ended).into_iter();
    let of_limit = checks.filter(|(_, check)| {
        let observed = check["observed"].as_str().unwrap();
        check["status"] == "skip" && observed.contains("rate limit: wait 17 s (Retry-After)")
    });
    of_limit.map(|(id, _)| id).collect()
}

#[test]
fn a_rate_limit_is_no_other_fault() {
    let answer = || {
        Response::new(429, "{}")
            .with("retry-after", "17")
            .with("date", http_date(now()))
    };
    type Part = fn(&Head) -> bool;
    let parts: [(Part, &[&str]); 4] = [
        (
            |_| true,
            &[
                "A1", "A4", "S1", "S2", "S3", "P1", "P4", "M1", "M3", "O1", "R1", "W1",
            ],
        ),
        (
            |head| head.headers.contains_key("authorization"),
            &["A1", "A4", "P1", "P4", "M1", "M3", "R1"],
        ),
        (
            |head| head.target.contains("/archives/"),
            &["C2", "D1", "D2", "D3", "P2"],
        ),
        (|head| head.target.starts_with("/api/"), &["A4", "P1", "M1"]),
    ];
    for (is_limited, ids) in parts {
        let registry = Sound::start(move |head, response| match is_limited(head) {
            true => answer(),
            false => response,
        });
        let ended = ended(&mut doctor(&registry.url, &[])).expect(0);
        assert_eq!(with_status(&ended, "fail"), [""; 0], "{ended:#?}");
        let warned = with_status(&ended, "warn");
        // T1 warns if the first request is limited.
        assert!(warned.iter().all(|it| it == "T1"), "{ended:#?}");
        let limited = limited(&ended);
        for id in ids {
            assert!(limited.iter().any(|it| it == id), "{id}: {ended:#?}");
        }
    }
}
