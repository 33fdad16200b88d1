//! A registry with one fault: the check that looks for it reports it, and no other one does.

use serde_json::{Value, json};
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{ArchiveSource, CopyFacts, DoctorAnswer, FailoverAnswer};
use terrace_core::storage::failover::ServingBucket;

use super::sound::{Sound, file, http_date, now, set};
use super::{assert_found, checks, doctor, with_status};
use crate::support::http::{Head, Response};
use crate::support::{TOKEN, assert_has, ended};

const DISCOVERY: &str = "/.well-known/terraform.json";

fn edited(mut response: Response, edit: impl FnOnce(&mut Value)) -> Response {
    let mut document: Value = serde_json::from_slice(&response.body).unwrap();
    edit(&mut document);
    response.body = document.to_string().into_bytes();
    response
}

/// Replaces the body of a response that succeeds.
fn with_body(mut response: Response, body: impl Into<Vec<u8>>) -> Response {
    if response.status == 200 {
        response.body = body.into();
    }
    response
}

fn html(status: u16) -> Response {
    Response::new(status, "<html>Sign in</html>").with("content-type", "text/html")
}

fn to(location: &'static str) -> Response {
    Response::new(302, "").with("location", location)
}

/// Returns the refusal of a storage.
fn refused(status: u16, code: &str) -> Response {
    Response::new(status, format!("<Error><Code>{code}</Code></Error>"))
}

/// Changes the response to a request, which is named by its method and target.
type Fault = fn(&Head, Response) -> Response;

/// The check, its status, a part of the requests' targets, and the fault in the responses to them.
#[rustfmt::skip]
const FAULTS: &[(&str, &str, &str, Fault)] = &[
    ("S1", "fail", DISCOVERY, |_, _| Response::new(401, "{}")),
    ("S1", "fail", DISCOVERY, |_, _| Response::new(404, "{}")),
    ("S1", "fail", DISCOVERY, |_, _| Response::new(503, "{}")),
    ("S1", "fail", DISCOVERY, |_, _| to(DISCOVERY)),
    ("S1", "fail", DISCOVERY, |_, _| to("https://10.9.8.7/x")),
    ("S1", "fail", DISCOVERY, |_, _| html(200)),
    ("S1", "fail", DISCOVERY, |_, it| set(it, "content-type", "text/plain")),
    ("S1", "fail", DISCOVERY, |_, it| with_body(it, "{")),
    ("S1", "fail", DISCOVERY, |_, it| with_body(it, "{}")),
    ("S1", "fail", DISCOVERY, |_, it| edited(it, |it| it["modules.v1"] = json!("/v1/modules"))),
    ("S1", "fail", DISCOVERY, |_, it| edited(it, |it| it["modules.v1"] = json!("http://127.0.0.1:1/v1/modules/"))),
    ("C1", "fail", DISCOVERY, |_, it| set(it, "date", &http_date(UnixTime(now().0 - 600)))),
    ("C2", "fail", "/archives/", |_, it| set(it, "date", &http_date(UnixTime(now().0 - 600)))),
    ("W1", "fail", "/", |head, it| match head.headers.get("user-agent") {
        Some(agent) if agent.starts_with("Go-http-client") => Response::new(403, "error code: 1010"),
        _ => it,
    }),
    ("W1", "fail", DISCOVERY, |_, it| it.with("cf-mitigated", "challenge")),

    ("A1", "fail", "/admin/v1/providers/", |_, _| Response::new(422, r#"{"errors":["shasums is missing"]}"#)),
    ("A1", "fail", "/admin/v1/audit", |_, _| Response::new(200, "{}")),
    ("A1", "fail", "/admin/", |_, _| html(200)),
    ("A1", "fail", "/admin/", |_, _| to("https://login.example.com/")),
    ("R1", "fail", "/admin/v1/doctor", |_, _| html(200)),
    ("A3", "fail", DISCOVERY, |_, it| edited(it, |it| it["login.v1"]["ports"] = json!([80, 90]))),
    ("A3", "fail", DISCOVERY, |_, it| edited(it, |it| it["login.v1"]["authz"] = json!("http://127.0.0.1/"))),
    ("A3", "fail", DISCOVERY, |_, it| edited(it, |it| it["login.v1"]["client"] = json!(""))),
    ("A3", "fail", DISCOVERY, |_, it| edited(it, |it| it["login.v1"]["grant_types"] = json!(["password"]))),
    ("A4", "fail", "/api/v1/token", |_, _| Response::new(401, "{}")),
    ("A4", "fail", "/api/v1/token", |_, _| Response::new(500, "{}")),
    ("A4", "warn", "/api/v1/token", |_, it| match it.status {
        200 => edited(it, |it| it["expires"] = json!(UnixTime(now().0 + 86_400).to_string())),
        _ => it,
    }),

    ("P1", "fail", "/hello/versions", |_, it| edited(it, |it| {
        it["versions"].as_array_mut().unwrap().push(json!({ "version": "v2.0.0", "protocols": ["6.0"] }));
    })),
    ("P1", "fail", "/hello/versions", |_, it| with_body(it, r#"{"versions":[]}"#)),
    ("P1", "fail", "/hello/versions", |_, _| html(200)),
    ("P2", "fail", "/SHA256SUMS", |head, it| match head.target.ends_with(".sig") {
        true => it,
        false => with_body(it, "\n"),
    }),
    ("P2", "fail", "/download/linux/amd64", |_, it| edited(it, |it| it["os"] = json!("windows"))),
    ("P4", "fail", "absent/terrace-doctor-absent/versions", |_, _| Response::new(500, "{}")),
    ("P4", "fail", "absent/terrace-doctor-absent/versions", |_, _| html(200)),
    ("M1", "fail", "/aws/versions", |head, it| if head.target.contains("absent") { it } else { html(200) }),
    ("M1", "fail", "/vpc/aws/versions", |_, it| with_body(it, r#"{"modules":[]}"#)),
    ("M1", "fail", "/vpc/aws/versions", |_, it| with_body(it, r#"{"error":"x"}"#)),
    ("M2", "fail", "/vpc/aws/1.0.0/download", |_, _| Response::new(500, "{}")),
    ("M2", "fail", "/vpc/aws/1.0.0/download", |_, mut it| {
        it.headers.retain(|(name, _)| *name != "x-terraform-get");
        it
    }),
    ("M3", "fail", "/v1/modules/terrace-doctor-absent", |_, it| Response { status: 200, body: br#"{"modules":[]}"#.into(), ..it }),

    ("D1", "fail", "/module.zip", |_, _| refused(403, "SignatureDoesNotMatch")),
    ("D1", "fail", "/module.zip", |_, _| refused(403, "Unknown")),
    ("D2", "fail", "/package.zip", |head, it| if head.method == "HEAD" { it.announcing(0) } else { it }),
    ("D3", "fail", "/package.zip", |head, it| match head.method.as_str() {
        "GET" => { let length = it.body.len(); with_body(it, vec![b'x'; length]) }
        _ => it,
    }),
    ("K1", "fail", "/healthz", |_, it| Response { status: 503, body: br#"{"kv":"ok","r2":"fails"}"#.into(), ..it }),
    ("R1", "fail", "/admin/v1/doctor", |_, _| Response::new(503, "{}")),
];

#[test]
fn every_fault_is_reported_once_with_its_cause() {
    for (id, status, part, fault) in FAULTS {
        let registry = Sound::start(move |head, response| match head.target.contains(part) {
            true => fault(head, response),
            false => response,
        });
        let code = if *status == "fail" { 3 } else { 0 };
        let ended = ended(&mut doctor(&registry.url, &[])).expect(code);
        assert_found(id, status, &ended);
    }
}

/// Changes what the registry states about itself.
type Change = fn(&mut DoctorAnswer);

/// The check, its status, and a problem that the registry states.
#[rustfmt::skip]
const STATED: &[(&str, &str, Change)] = &[
    ("R3", "warn", |it| it.warnings.push("rule 1 trusts forks".to_owned())),
    ("R4", "fail", |it| it.archives = ArchiveSource::Unsigned),
    ("K2", "warn", |it| it.repair.enabled = false),
    ("K3", "fail", |it| it.indices.stale.push("modules/acme/vpc/aws/versions".to_owned())),
    ("K3", "warn", |it| it.indices.missing.push("modules/acme/vpc/aws/tags".to_owned())),
    ("K5", "warn", |it| state(it).serving = ServingBucket::Fallback),
    ("K5", "warn", |it| state(it).copy = None),
    ("K5", "warn", |it| state(it).keeps_versions = Some(true)),
    ("K5", "warn", |it| copy(it).missing = 2),
    ("K5", "warn", |it| copy(it).erased = 2),
    ("K5", "warn", |it| copy(it).surplus = 2),
    ("K5", "warn", |it| copy(it).error = Some("the second bucket answers 403".to_owned())),
    ("U1", "fail", |it| it.services[0].error = Some("no answer".to_owned())),
    ("U2", "fail", |it| it.services[1].error = Some("no answer".to_owned())),
];

fn state(facts: &mut DoctorAnswer) -> &mut FailoverAnswer {
    facts.failover.as_mut().unwrap()
}

fn copy(facts: &mut DoctorAnswer) -> &mut CopyFacts {
    state(facts).copy.as_mut().unwrap()
}

#[test]
fn every_problem_that_the_registry_states_is_reported() {
    for (id, status, change) in STATED {
        let registry = Sound::start(|_, response| response);
        registry.set_facts(change);
        let code = if *status == "fail" { 3 } else { 0 };
        let ended = ended(&mut doctor(&registry.url, &["--only", "R,K,U"])).expect(code);
        assert_found(id, status, &ended);
    }
}

#[test]
fn a_late_repair_of_a_registry_on_this_machine_is_no_problem() {
    let registry = Sound::start(|_, response| response);
    registry.set_facts(|it| it.repair.overdue = 7_200);
    let ended = ended(&mut doctor(&registry.url, &["--only", "K"])).expect(0);
    assert_eq!(checks(&ended)["K2"]["status"], "skip", "{ended:#?}");
}

#[test]
fn an_expired_key_is_found() {
    let registry = Sound::start(|head, it| match &*head.target {
        target if target.contains("/download/linux/amd64") => edited(it, |it| {
            let key = String::from_utf8(file("expired.asc")).unwrap();
            it["signing_keys"]["gpg_public_keys"][0]["ascii_armor"] = json!(key);
        }),
        target if target.ends_with(".sig") => with_body(it, file("expired.sig")),
        _ => it,
    });
    let ended = ended(&mut doctor(&registry.url, &[])).expect(0);
    assert_found("P3", "warn", &ended);
}

#[test]
fn a_second_bucket_that_cannot_serve_is_named() {
    let registry = Sound::start(|head, it| match head.target.ends_with("/module.zip") {
        true => refused(404, "NoSuchKey"),
        false => it,
    });
    registry.set_facts(|it| state(it).serving = ServingBucket::Fallback);
    let examined = ended(&mut doctor(&registry.url, &["--only", "D1"])).expect(3);
    assert_found("D1", "fail", &examined);
    let action = checks(&examined)["D1"]["fix"].to_string();
    assert_has!(action, "terrace admin replicate");
    // While R2 does not answer, the registry states nothing but this.
    let registry = Sound::start(|head, it| match &*head.target {
        "/admin/v1/doctor" => Response { status: 503, ..it },
        "/admin/v1/failover" => {
            let state = json!({ "configured": true, "serving": "fallback", "recorded": true });
            with_body(it, state.to_string())
        }
        target if target.ends_with("/module.zip") => refused(404, "NoSuchKey"),
        _ => it,
    });
    let ended = ended(&mut doctor(&registry.url, &["--only", "D1"])).expect(3);
    let action = checks(&ended)["D1"]["fix"].to_string();
    assert_has!(action, "terrace admin replicate");
}

#[test]
fn a_token_that_the_registry_refuses_everywhere_is_one_fault() {
    let registry = Sound::start(move |head, response| {
        let token = head.headers.get("authorization");
        let has_token = token.is_some_and(|it| it.contains(TOKEN));
        match has_token && head.target != DISCOVERY {
            true => Response::new(401, r#"{"errors":["no"]}"#),
            false => response,
        }
    });
    let ended = ended(&mut doctor(&registry.url, &[])).expect(3);
    assert_found("A4", "fail", &ended);
    for id in ["P1", "P4", "M1", "M3", "D1", "R1"] {
        assert_eq!(checks(&ended)[id]["observed"], "A4 failed", "{id}");
    }
}

#[test]
fn an_outage_of_the_storage_is_one_fault() {
    let registry = Sound::start(|head, response| {
        let fails = |part: &&str| head.target.starts_with(part);
        match ["/v1/", "/api/", "/admin/", "/healthz"].iter().any(fails) {
            true => Response::new(503, r#"{"kv":"ok","r2":"does not answer"}"#),
            false => response,
        }
    });
    let named = ["--provider", "acme/hello", "--module", "acme/vpc/aws"];
    let ended = ended(&mut doctor(&registry.url, &named)).expect(3);
    assert_found("K1", "fail", &ended);
    for id in ["A4", "P1", "P4", "M1", "M3", "R1"] {
        assert_eq!(checks(&ended)[id]["observed"], "K1 failed", "{id}");
    }
}

#[test]
fn a_rate_limit_is_no_other_fault() {
    type Part = fn(&Head) -> bool;
    let parts: [(Part, &[&str]); 4] = [
        (
            |_| true,
            &["A1", "A4", "S1", "P1", "P4", "M1", "M3", "R1", "W1"],
        ),
        (
            |head| head.headers.contains_key("authorization"),
            &["A1", "A4", "P1", "P4", "M1", "M3", "R1"],
        ),
        (
            |head| head.target.contains("/archives/"),
            &["C2", "D1", "D2", "P2"],
        ),
        (|head| head.target.starts_with("/api/"), &["A4", "P1", "M1"]),
    ];
    for (is_limited, ids) in parts {
        let registry = Sound::start(move |head, response| match is_limited(head) {
            true => Response::new(429, "{}"),
            false => response,
        });
        let ended = ended(&mut doctor(&registry.url, &[])).expect(0);
        assert_eq!(with_status(&ended, "fail"), [""; 0], "{ended:#?}");
        let warned = with_status(&ended, "warn");
        // T1 warns if the first request is limited.
        assert!(warned.iter().all(|it| it == "T1"), "{ended:#?}");
        for id in ids {
            let observed = checks(&ended)[*id]["observed"].to_string();
            assert!(observed.contains("a rate limit"), "{id}: {ended:#?}");
        }
    }
}

#[test]
fn a_certificate_of_an_unknown_authority_is_found() {
    let registry = Sound::start(|_, response| response);
    let mut command = doctor(&registry.url, &[]);
    let ended = ended(command.env_remove("SSL_CERT_FILE")).expect(6);
    assert_found("T1", "fail", &ended);
}
