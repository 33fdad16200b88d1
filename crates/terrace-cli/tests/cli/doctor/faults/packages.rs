//! Faults of lists: providers, modules and OCI repositories.

use serde_json::json;

use super::{assert_found, edited, found, found_in, html};
use crate::doctor::sound::{Build, Sound};
use crate::doctor::{checks, doctor};
use crate::support::ended;
use crate::support::http::{Head, Response};

#[test]
fn p1_a_list_that_clients_reject_is_found() {
    let versions = "/v1/providers/acme/hello/versions";
    found_in("P1", versions, |it| {
        edited(it, |document| {
            let list = document["versions"].as_array_mut().unwrap();
            list.push(json!({ "version": "v2.0.0", "protocols": ["6.0"] }));
        })
    });
    found_in("P1", versions, |it| {
        edited(it, |document| document["versions"] = json!([]))
    });
    found_in("P1", versions, |_| html(200));
}

#[test]
fn p2_documents_that_do_not_match_their_signature_are_found() {
    found_in("P2", "/SHA256SUMS", |it| {
        match it.body.starts_with(b"-----") {
            true => it,
            false => Response {
                body: [it.body, b"\n".to_vec()].concat(),
                ..it
            },
        }
    });
    found_in("P2", "/download/linux/amd64", |it| {
        edited(it, |document| document["os"] = json!("windows"))
    });
}

#[test]
fn p3_an_expired_key_is_found() {
    let build = Build {
        signer: ("expired.asc", "expired.sig"),
        ..Build::default()
    };
    let registry = Sound::build(build, |_, response| response);
    let ended = ended(&mut doctor(&registry.url, &[])).expect(0);
    assert_found("P3", "warn", &ended);
}

#[test]
fn p4_and_m3_a_missing_package_with_another_status_is_found() {
    for (id, part) in [
        ("P4", "/v1/providers/terrace-doctor-absent"),
        ("M3", "/v1/modules/terrace-doctor-absent"),
    ] {
        for answer in [Response::new(500, "{}"), html(200)] {
            found(id, Build::default(), move |head, response| {
                match head.target.starts_with(part) {
                    true => answer.clone(),
                    false => response,
                }
            });
        }
    }
}

#[test]
fn m3_an_empty_list_for_a_missing_module_is_a_warning_elsewhere_and_a_fault_in_terrace() {
    let is_absent = |head: &Head| head.target.starts_with("/v1/modules/terrace-doctor-absent");
    let (of_terrace, elsewhere) = ((true, "fail", 3), (false, "warn", 0));
    for (body, cause, kinds) in [
        (
            r#"{"modules":[{"versions":null}]}"#,
            "without versions",
            [of_terrace, elsewhere],
        ),
        (
            r#"{"modules":[{"versions":[]}]}"#,
            "without versions",
            [of_terrace, elsewhere],
        ),
        (
            r#"{"modules":[]}"#,
            "invalid response",
            [of_terrace, elsewhere],
        ),
        (
            r#"{"modules":null}"#,
            "invalid response",
            [of_terrace, elsewhere],
        ),
        (r#"{"error":"x"}"#, "", [of_terrace, (false, "fail", 3)]),
    ] {
        for (is_terrace, status, code) in kinds {
            let registry = Sound::start(move |head, response| match head.target.as_str() {
                "/healthz" if !is_terrace => Response::new(404, "nothing"),
                _ if is_absent(head) => {
                    Response::new(200, body).with("content-type", "application/json")
                }
                _ => response,
            });
            let arguments = ["--only", "P,M"];
            let ended = ended(&mut doctor(&registry.url, &arguments)).expect(code);
            assert_found("M3", status, &ended);
            let error = checks(&ended)["M3"]["error"].to_string();
            assert!(status == "fail" || error.contains(cause), "{body}: {error}");
        }
    }
}

#[test]
fn m1_and_m2_a_module_that_clients_cannot_find_is_found() {
    let versions = "/v1/modules/acme/vpc/aws/versions";
    found_in("M1", versions, |_| html(200));
    for (body, cause) in [
        (r#"{"modules":[]}"#, "an invalid response"),
        (r#"{"modules":[{"versions":[]}]}"#, "has no versions"),
        (r#"{"error":"x"}"#, "not the document"),
    ] {
        let registry = Sound::start(move |head, response| match head.target == versions {
            true => Response {
                body: body.into(),
                ..response
            },
            false => response,
        });
        let ended = ended(&mut doctor(&registry.url, &[])).expect(3);
        assert_found("M1", "fail", &ended);
        let error = checks(&ended)["M1"]["error"].to_string();
        assert!(error.contains(cause), "{body}: {error}");
    }
    let download = "/v1/modules/acme/vpc/aws/1.0.0/download";
    found_in("M2", download, |_| Response::new(500, "{}"));
    found_in("M2", download, |mut it| {
        it.headers.retain(|(name, _)| *name != "x-terraform-get");
        it
    });
}

#[test]
fn o1_and_o2_an_oci_repository_that_does_not_answer_is_found() {
    found("O1", Build::default(), |head, response| {
        match head.target == "/v2/" {
            true => Response::new(500, "{}"),
            false => response,
        }
    });
    found("O1", Build::default(), |head, response| {
        match head.target == "/v2/" {
            true => html(200),
            false => response,
        }
    });
    let tag = "/v2/providers/acme/hello/manifests/1.2.3";
    found_in("O2", tag, |_| Response::new(404, "{}"));
    found_in("O2", tag, |it| Response {
        body: [it.body, b" ".to_vec()].concat(),
        ..it
    });
}
