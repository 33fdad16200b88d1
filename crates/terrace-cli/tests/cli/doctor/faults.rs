//! A registry with one fault for each check: that check reports it, and no other one does.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{ArchiveSource, CopyFacts, DoctorAnswer, FailoverAnswer};
use terrace_core::storage::failover::ServingBucket;

use super::certificate::{Template, pem, serving};
use super::sound::{Build, Sound, http_date, now, set};
use super::{checks, doctor, with_status};
use crate::support::http::{Head, Response};
use crate::support::{Ended, TOKEN, ended};

/// Checks that exactly one check reports a problem, with this status, and that it explains it.
#[track_caller]
fn assert_found(id: &str, status: &str, ended: &Ended) {
    let mut problems = with_status(ended, "fail");
    problems.extend(with_status(ended, "warn"));
    assert_eq!(problems, [id], "{ended:#?}");
    let check = &checks(ended)[id];
    assert_eq!(check["status"], status, "{check}");
    for member in ["observed", "error", "fix"] {
        assert!(
            !check[member].as_str().unwrap().is_empty(),
            "{member}: {check}"
        );
    }
    assert_eq!(
        check["hint"],
        format!("docs/doctor.md#{}", id.to_lowercase())
    );
}

#[track_caller]
fn found(
    id: &str,
    build: Build,
    fault: impl Fn(&Head, Response) -> Response + Send + Sync + 'static,
) {
    let registry = Sound::build(build, fault);
    let ended = ended(&mut doctor(&registry.url, &[])).expect(3);
    assert_found(id, "fail", &ended);
}

/// Checks a fault in the responses for targets that contain `part`.
#[track_caller]
fn found_in(
    id: &str,
    part: &'static str,
    fault: impl Fn(Response) -> Response + Send + Sync + 'static,
) {
    found(id, Build::default(), move |head, response| {
        match head.target.contains(part) {
            true => fault(response),
            false => response,
        }
    });
}

const DISCOVERY: &str = "/.well-known/terraform.json";

fn edited(response: Response, edit: impl Fn(&mut Value)) -> Response {
    let mut document: Value = serde_json::from_slice(&response.body).unwrap();
    edit(&mut document);
    Response {
        body: document.to_string().into_bytes(),
        ..response
    }
}

fn html(status: u16) -> Response {
    let date = http_date(now());
    Response::new(status, "<html>Sign in</html>")
        .with("content-type", "text/html")
        .with("date", date)
}

#[test]
fn t2_an_unknown_authority_is_found() {
    let registry = Sound::start(|_, response| response);
    let mut command = doctor(&registry.url, &[]);
    let ended = ended(command.env_remove("SSL_CERT_FILE")).expect(6);
    assert_found("T2", "fail", &ended);
    let fix = checks(&ended)["T2"]["fix"].to_string();
    assert!(fix.contains("SSL_CERT_FILE"), "{fix}");
}

/// Runs the checks against a server with these certificates, with trust in one.
fn with_chain(chain: &[Template], trusted: Template, code: i32) -> Ended {
    let build = Build {
        config: Some(serving(chain)),
        ..Build::default()
    };
    let registry = Sound::build(build, |_, response| response);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trusted.pem");
    fs::write(&file, pem(trusted)).unwrap();
    let mut command = doctor(&registry.url, &[]);
    ended(command.env("SSL_CERT_FILE", file)).expect(code)
}

#[test]
fn t2_an_incomplete_chain_an_expired_certificate_and_another_name_are_found() {
    let of = |subject, issuer| Template {
        subject,
        issuer,
        address: None,
        ..Template::SERVER
    };
    let (root, middle) = (of("root", "root"), of("middle", "root"));
    let server = Template {
        issuer: "middle",
        ..Template::SERVER
    };
    with_chain(&[server, middle], root, 0);
    let incomplete = with_chain(&[server], root, 6);
    assert_found("T2", "fail", &incomplete);
    let cause = checks(&incomplete)["T2"]["error"].to_string();
    assert!(cause.contains("the chain is incomplete"), "{cause}");

    let expired = Template {
        days: -1,
        ..Template::SERVER
    };
    let ended = with_chain(&[expired], expired, 6);
    assert_found("T2", "fail", &ended);
    assert!(
        checks(&ended)["T2"]["error"]
            .to_string()
            .contains("expired")
    );

    let other = Template {
        address: Some([127, 0, 0, 2]),
        ..Template::SERVER
    };
    let ended = with_chain(&[other], other, 6);
    assert_found("T2", "fail", &ended);
    assert!(
        checks(&ended)["T2"]["error"]
            .to_string()
            .contains("other names")
    );
}

#[test]
fn t3_a_certificate_that_ends_soon_is_found() {
    let soon = Template {
        days: 5,
        ..Template::SERVER
    };
    assert_found("T3", "warn", &with_chain(&[soon], soon, 0));
}

#[test]
fn t4_plain_http_to_another_machine_is_found() {
    let build = Build {
        config: None,
        host: "0.0.0.0",
        ..Build::default()
    };
    found("T4", build, |_, response| response);
}

#[test]
fn s1_a_missing_a_failing_and_a_circular_discovery_are_found() {
    for status in [401, 404, 500, 503] {
        found_in("S1", DISCOVERY, move |_| {
            Response::new(status, "{}").with("date", http_date(now()))
        });
    }
    found_in("S1", DISCOVERY, |_| {
        Response::new(302, "")
            .with("location", DISCOVERY)
            .with("date", http_date(now()))
    });
    found_in("S1", DISCOVERY, |_| {
        Response::new(302, "")
            .with("location", "https://10.9.8.7/x")
            .with("date", http_date(now()))
    });
}

#[test]
fn s2_a_page_and_another_type_are_found() {
    found_in("S2", DISCOVERY, |_| html(200));
    found_in("S2", DISCOVERY, |it| set(it, "content-type", "text/plain"));
    found_in("S2", DISCOVERY, |it| Response {
        body: b"{".to_vec(),
        ..it
    });
}

#[test]
fn s3_services_that_are_missing_or_have_no_slash_are_found() {
    found_in("S3", DISCOVERY, |it| Response {
        body: b"{}".to_vec(),
        ..it
    });
    found_in("S3", DISCOVERY, |it| {
        edited(it, |document| document["modules.v1"] = json!("/v1/modules"))
    });
}

#[test]
fn s4_services_without_tls_are_found() {
    found_in("S4", DISCOVERY, |it| {
        edited(it, |document| {
            document["modules.v1"] = json!("http://127.0.0.1:1/v1/modules/")
        })
    });
}

#[test]
fn s5_services_at_other_paths_are_found() {
    let build = Build {
        prefix: "/registry",
        ..Build::default()
    };
    let registry = Sound::build(build, |_, response| response);
    let ended = ended(&mut doctor(&registry.url, &[])).expect(0);
    assert_found("S5", "warn", &ended);
}

/// Runs the checks against a registry at a name and port 443.
fn at_a_name(
    fault: impl Fn(&Head, Response) -> Response + Send + Sync + 'static,
    code: i32,
) -> Ended {
    let certificate = Template {
        name: Some("registry.example.com"),
        ..Template::SERVER
    };
    let build = Build {
        config: Some(serving(&[certificate])),
        host: "registry.example.com",
        is_proxied: true,
        ..Build::default()
    };
    let registry = Sound::build(build, fault);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trusted.pem");
    fs::write(&file, pem(certificate)).unwrap();
    let mut command = doctor(&registry.url, &["--deep"]);
    for name in ["NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(name);
    }
    command.env("HTTPS_PROXY", registry.proxy.as_ref().unwrap());
    ended(command.env("SSL_CERT_FILE", file)).expect(code)
}

#[test]
fn a_sound_registry_at_a_name_passes_the_checks_that_a_port_excludes() {
    let ended = at_a_name(|_, response| response, 0);
    let problems = (with_status(&ended, "fail"), with_status(&ended, "warn"));
    assert_eq!(problems, (vec![], vec![]), "{ended:#?}");
    // The tried provider is public, and a proxy is between this machine and the certificate.
    let skipped = with_status(&ended, "skip");
    assert_eq!(skipped, ["A2", "T3"], "{ended:#?}");
    assert_eq!(
        checks(&ended)["T5"]["observed"],
        "port 80 redirects, without HSTS"
    );
    let strict = |_: &Head, response: Response| {
        response.with("strict-transport-security", "max-age=31536000")
    };
    let observed = checks(&at_a_name(strict, 0))["T5"]["observed"].clone();
    assert_eq!(observed, "port 80 redirects, with HSTS");
}

#[test]
fn t5_a_host_that_cannot_be_resolved_is_reported_by_t1_alone() {
    let mut command = doctor("https://registry.invalid", &["--timeout", "5s"]);
    for name in [
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        command.env_remove(name);
    }
    let ended = ended(&mut command).expect(6);
    assert_found("T1", "fail", &ended);
    assert_eq!(checks(&ended)["T5"]["status"], "skip", "{ended:#?}");
}

#[test]
fn t5_plain_http_without_a_redirect_is_found() {
    let is_plain = |head: &Head| head.target == "/" || head.target.starts_with("http://");
    let answered = |status| {
        at_a_name(
            move |head, response| match is_plain(head) {
                true => Response::new(status, "a page"),
                false => response.with("strict-transport-security", "max-age=31536000"),
            },
            0,
        )
    };
    let page = answered(200);
    assert_found("T5", "warn", &page);
    let observed = checks(&page)["T5"]["observed"].to_string();
    assert!(observed.contains("to https, with HSTS"), "{observed}");
    assert_eq!(
        checks(&answered(404))["T5"]["observed"],
        "port 80 answers 404, with HSTS"
    );
}

#[test]
fn m5_a_mirror_that_lacks_what_the_registry_has_is_found() {
    type Change = fn(Response) -> Response;
    let faults: [(&str, Change); 4] = [
        ("/index.json", |it| {
            edited(it, |all| all["versions"] = json!({}))
        }),
        ("/1.2.3.json", |it| {
            edited(it, |all| {
                all["archives"]["linux_amd64"]["hashes"] = json!(["zh:00"])
            })
        }),
        ("/index.json", |it| set(it, "content-type", "text/plain")),
        ("/1.2.3.json", |_| Response::new(404, "{}")),
    ];
    for (name, change) in faults {
        let ended = at_a_name(
            move |head, response| {
                let is_own = head
                    .target
                    .starts_with("/mirror/registry.example.com/acme/");
                match is_own && head.target.ends_with(name) {
                    true => change(response),
                    false => response,
                }
            },
            3,
        );
        assert_found("M5", "fail", &ended);
    }
}

#[test]
fn s6_a_discovery_that_rejects_tokens_is_found() {
    found("S6", Build::default(), |head, response| {
        match head.target == DISCOVERY && head.headers.contains_key("authorization") {
            true => Response::new(401, "{}"),
            false => response,
        }
    });
}

#[test]
fn c1_and_c2_a_wrong_clock_is_found() {
    let late = || http_date(UnixTime(now().0 - 600));
    found_in("C1", DISCOVERY, move |it| set(it, "date", &late()));
    found_in("C2", "/archives/", move |it| set(it, "date", &late()));
}

#[test]
fn a1_writes_without_a_token_are_found() {
    found("A1", Build::default(), |head, response| {
        match head.method == "PUT" {
            true => Response::new(422, r#"{"errors":["shasums is missing"]}"#),
            false => response,
        }
    });
    found("A1", Build::default(), |head, response| {
        match head.target == "/admin/v1/audit" {
            true => Response::new(200, "{}"),
            false => response,
        }
    });
}

#[test]
fn a2_a_private_package_that_differs_from_a_missing_one_is_found() {
    let private = || Build {
        is_private: true,
        ..Build::default()
    };
    let is_hidden =
        |head: &Head| head.target.contains("/acme/") && !head.headers.contains_key("authorization");
    found("A2", private(), move |head, response| {
        match is_hidden(head) {
            true => Response::new(403, "{}"),
            false => response,
        }
    });
    found("A2", private(), move |head, response| {
        match is_hidden(head) {
            true => response.with("x-rule", "private"),
            false => response,
        }
    });
}

#[test]
fn a3_an_unusable_sign_in_is_found() {
    for (name, value) in [
        ("ports", json!([80, 90])),
        ("authz", json!("http://127.0.0.1/")),
        ("client", json!("")),
        ("grant_types", json!(["password"])),
    ] {
        found_in("A3", DISCOVERY, move |it| {
            edited(it, |document| document["login.v1"][name] = value.clone())
        });
    }
}

#[test]
fn a4_a_token_that_is_not_valid_or_ends_soon_is_found() {
    let registry = Sound::start(|head, response| match head.target == "/api/v1/token" {
        true => Response::new(401, "{}"),
        false => response,
    });
    let refused = ended(&mut doctor(&registry.url, &[])).expect(3);
    assert_found("A4", "fail", &refused);
    // Where everything is public, reads ignore the token.
    for id in ["P1", "P4", "M1", "M3", "M4", "D1", "O2"] {
        assert_eq!(checks(&refused)[id]["status"], "pass", "{id}: {refused:#?}");
    }
    let registry = Sound::start(|head, response| match head.target == "/api/v1/token" {
        true => edited(response, |document| {
            document["expires"] = json!(UnixTime(now().0 + 86_400).to_string());
        }),
        false => response,
    });
    let ended = ended(&mut doctor(&registry.url, &[])).expect(0);
    assert_found("A4", "warn", &ended);
}

#[test]
fn a4_a_token_that_the_registry_refuses_everywhere_is_one_fault() {
    let is_refused = |head: &Head| {
        let token = head.headers.get("authorization");
        token.is_some_and(|it| it.contains(TOKEN)) && head.target != DISCOVERY
    };
    for named in [
        &[][..],
        &["--provider", "acme/hello", "--module", "acme/vpc/aws"][..],
    ] {
        let registry = Sound::start(move |head, response| match is_refused(head) {
            true => Response::new(
                401,
                r#"{"errors":["this is not a token of this registry"]}"#,
            )
            .with("date", http_date(now())),
            false => response,
        });
        let ended = ended(&mut doctor(&registry.url, named)).expect(3);
        assert_found("A4", "fail", &ended);
        for id in ["P1", "P4", "M1", "M3", "M4", "D1", "R1"] {
            assert_eq!(checks(&ended)[id]["observed"], "A4 failed", "{id}");
        }
    }
}

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
        let parts = ["/v1/", "/api/", "/mirror/", "/v2/", "/admin/"];
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
        for id in ["A1", "A4", "P1", "P4", "M1", "M3", "M4", "O1", "R1"] {
            assert_eq!(checks(&ended)[id]["observed"], "K1 failed", "{id}");
        }
    }
}

#[test]
fn a1_a_page_in_front_of_the_admin_api_is_one_fault() {
    for page in [
        html(200),
        Response::new(302, "").with("location", "https://login.example.com/"),
    ] {
        let registry =
            Sound::start(
                move |head, response| match head.target.starts_with("/admin/") {
                    true => page.clone(),
                    false => response,
                },
            );
        let ended = ended(&mut doctor(&registry.url, &[])).expect(3);
        assert_found("A1", "fail", &ended);
        let a1 = &checks(&ended)["A1"];
        let cause = a1["error"].as_str().unwrap();
        assert!(cause.starts_with("a page is in front of /admin"), "{a1}");
        assert!(!a1["fix"].to_string().contains("revoke"), "{a1}");
        assert_eq!(checks(&ended)["R1"]["observed"], "A1 failed");
    }
    // A page for requests with the token only does not concern A1.
    found("R1", Build::default(), |head, response| {
        match head.target == "/admin/v1/doctor" {
            true => html(200),
            false => response,
        }
    });
}

#[test]
fn d5_archives_that_a_proxy_compresses_again_are_one_fault() {
    let registry = Sound::start(|head, response| {
        let is_asked = head
            .headers
            .get("accept-encoding")
            .is_some_and(|it| it.contains("gzip"));
        match head.target.ends_with(".zip") && response.status < 300 && is_asked {
            true => Response {
                body: [b"\x1f\x8b".to_vec(), response.body].concat(),
                ..response
            }
            .with("content-encoding", "gzip"),
            false => response,
        }
    });
    let ended = ended(&mut doctor(&registry.url, &[])).expect(3);
    assert_found("D5", "fail", &ended);
    for id in ["D2", "D3", "D4", "D6"] {
        assert_eq!(checks(&ended)[id]["observed"], "D5 failed", "{id}");
    }
    let only = self::ended(&mut doctor(&registry.url, &["--only", "D3"])).expect(3);
    assert_found("D5", "fail", &only);
}

#[test]
fn t1_a_rate_limit_of_the_first_request_is_a_warning_in_any_selection() {
    let registry = Sound::start(|_, _| Response::new(429, "{}").with("retry-after", "17"));
    for arguments in [&["--strict"][..], &["--strict", "--only", "P1"]] {
        let ended = ended(&mut doctor(&registry.url, arguments)).expect(1);
        assert_found("T1", "warn", &ended);
    }
}

#[test]
fn t1_another_protocol_at_the_port_is_found() {
    let start = |greeting: &'static [u8]| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                use std::io::{Read as _, Write as _};
                let _ = stream.write_all(greeting);
                let _ = stream.read(&mut [0; 4096]);
            }
        });
        address
    };
    let secure = Sound::start(|_, response| response);
    for (url, protocol) in [
        (
            format!("https://{}", start(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
            "TLS",
        ),
        (
            format!("http://{}", start(b"SSH-2.0-OpenSSH_9.6\r\n")),
            "HTTP",
        ),
        (secure.url.replace("https://", "http://"), "HTTP"),
    ] {
        let ended = ended(&mut doctor(&url, &["--timeout", "5s"])).expect(6);
        assert_found("T1", "fail", &ended);
        let cause = checks(&ended)["T1"]["error"].to_string();
        let expected = format!("it answers, but not with {protocol}: ");
        assert!(cause.contains(&expected), "{url}: {cause}");
    }
}

#[test]
fn t2_an_authority_that_is_a_server_is_found_whether_it_is_trusted_or_not() {
    let authority = Template {
        is_authority: true,
        ..Template::SERVER
    };
    let other = Template {
        subject: "other",
        issuer: "other",
        ..Template::SERVER
    };
    for (trusted, cause) in [
        (
            authority,
            "terraform and tofu accept it, this command does not",
        ),
        (other, "does not know the certificate"),
    ] {
        let ended = with_chain(&[authority], trusted, 6);
        assert_found("T2", "fail", &ended);
        let t2 = &checks(&ended)["T2"];
        assert!(t2["error"].to_string().contains(cause), "{t2}");
        assert!(
            t2["fix"].to_string().contains("basicConstraints=CA:FALSE"),
            "{t2}"
        );
    }
}

#[test]
fn a_fault_outside_the_selection_that_prevents_its_checks_is_reported() {
    let is_refused = |head: &Head| {
        let token = head.headers.get("authorization");
        token.is_some_and(|it| it.contains(TOKEN)) && head.target != DISCOVERY
    };
    let refusing = Sound::start(move |head, response| match is_refused(head) {
        true => Response::new(401, "{}").with("date", http_date(now())),
        false => response,
    });
    let closed = Sound::start(|head, response| match head.target == DISCOVERY {
        true => html(200),
        false => response,
    });
    for (registry, arguments, reporter) in [
        (&refusing, &["--only", "P1"][..], "A4"),
        (&refusing, &["--only", "P,M,D"], "A4"),
        (&refusing, &["--only", "R2"], "A4"),
        (&refusing, &["--skip", "A4"], "A4"),
        (&closed, &["--only", "P1"], "S2"),
        (&closed, &["--only", "O2,D3"], "S2"),
    ] {
        let ended = ended(&mut doctor(&registry.url, arguments)).expect(3);
        assert_found(reporter, "fail", &ended);
    }
    let only = ended(&mut doctor(&refusing.url, &["--only", "P1"])).expect(3);
    let ids: Vec<String> = checks(&only).into_keys().collect();
    assert_eq!(ids, ["A4", "P1"]);
}

#[test]
fn an_unreachable_registry_is_reported_in_any_selection() {
    let ended_by = |url: &str, reporter: &str| {
        let mut command = doctor(url, &["--only", "P1"]);
        let ended = ended(command.env_remove("SSL_CERT_FILE")).expect(6);
        assert_found(reporter, "fail", &ended);
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    drop(listener);
    ended_by(&url, "T1");
    let registry = Sound::start(|_, response| response);
    ended_by(&registry.url, "T2");
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
                "A1", "A4", "S1", "S2", "S3", "P1", "P4", "M1", "M3", "M4", "O1", "R1", "W1",
            ],
        ),
        (
            |head| head.headers.contains_key("authorization"),
            &["A1", "A4", "S6", "P1", "P4", "M1", "M3", "M4", "R1"],
        ),
        (
            |head| head.target.contains("/archives/"),
            &["C2", "D1", "D2", "D3", "D5", "D6", "D7", "P2"],
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
fn p4_m3_and_m4_a_missing_package_with_another_status_is_found() {
    for (id, part) in [
        ("P4", "/v1/providers/terrace-doctor-absent"),
        ("M3", "/v1/modules/terrace-doctor-absent"),
        ("M4", "/mirror/"),
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
fn o1_o2_and_o3_an_oci_repository_that_does_not_answer_is_found() {
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
    found_in("O3", "/blobs/", |_| Response::new(403, "{}"));
    let registry = Sound::start(move |head, response| match head.target == tag {
        true => {
            let empty = edited(response, |index| index["manifests"] = json!([]));
            let digest = format!("sha256:{}", Sha256::of(&empty.body));
            set(empty, "docker-content-digest", &digest)
        }
        false => response,
    });
    let ended = ended(&mut doctor(&registry.url, &[])).expect(3);
    assert_found("O3", "fail", &ended);
    let observed = checks(&ended)["O3"]["observed"].clone();
    assert_eq!(observed, "the index lists no manifest");
}

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
fn d2_to_d8_changes_to_downloads_are_found() {
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
        if is_of(head, "GET") && !head.headers.contains_key("range") && response.status == 200 {
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
    found_in("D5", zip, |it| it.with("content-encoding", "gzip"));
    found("D7", Build::default(), |head, response| {
        match response.status {
            403 if head.target.contains("/archives/") => Response::new(200, "PK"),
            _ => response,
        }
    });
}

#[test]
fn d6_and_d8_downloads_that_cannot_be_resumed_or_end_soon_are_found() {
    let registry = Sound::start(|head, response| match head.headers.contains_key("range") {
        true => Response::new(416, ""),
        false => response,
    });
    let result = ended(&mut doctor(&registry.url, &[])).expect(0);
    assert_found("D6", "warn", &result);
    let registry = Sound::start(|head, response| match head.target.ends_with("/download") {
        true => {
            let text = String::from_utf8(response.body).unwrap();
            let (before, after) = text.split_once("/archives/").unwrap();
            let (_, rest) = after.split_once('/').unwrap();
            let text = format!("{before}/archives/{}/{rest}", now().0 + 20);
            let location: Value = serde_json::from_str(&text).unwrap();
            let location = location["location"].as_str().unwrap().to_owned();
            let headers = response.headers;
            set(
                Response {
                    headers,
                    ..Response::new(200, text)
                },
                "x-terraform-get",
                &location,
            )
        }
        false => response,
    });
    let result = ended(&mut doctor(&registry.url, &[])).expect(0);
    assert_found("D8", "warn", &result);
}

#[test]
fn w1_a_firewall_that_decides_by_the_user_agent_is_found() {
    found("W1", Build::default(), |head, response| {
        let agent = head.headers.get("user-agent");
        match agent.is_some_and(|it| it.starts_with("Go-http-client")) {
            true => Response::new(403, "error code: 1010"),
            false => response,
        }
    });
    found_in("W1", DISCOVERY, |it| it.with("cf-mitigated", "challenge"));
}

#[test]
fn w2_a_limit_of_requests_is_found() {
    let count = Arc::new(AtomicUsize::new(0));
    found("W2", Build::default(), move |head, response| {
        let is_counted = head.target == "/v1/providers/acme/hello/versions";
        match is_counted && count.fetch_add(1, Ordering::SeqCst) > 10 {
            true => Response::new(429, "{}"),
            false => response,
        }
    });
}

#[test]
fn w3_and_w4_a_cache_and_a_compression_in_front_are_found() {
    let description = "/download/linux/amd64";
    found_in("W3", description, |it| it.with("cf-cache-status", "HIT"));
    found_in("W3", description, |it| it.with("age", "30"));
    found_in("W3", description, |it| {
        set(it, "cache-control", "max-age=14400")
    });
    found("W4", Build::default(), |head, response| {
        let encoding = head.headers.get("accept-encoding");
        match head.target == DISCOVERY && encoding.is_some_and(|it| it == "identity") {
            true => response.with("content-encoding", "br"),
            false => response,
        }
    });
}

/// Checks a fact that the registry states about itself.
#[track_caller]
fn stated(id: &str, status: &str, change: impl FnOnce(&mut DoctorAnswer)) {
    let registry = Sound::start(|_, response| response);
    registry.set_facts(change);
    let code = if status == "fail" { 3 } else { 0 };
    let ended = ended(&mut doctor(&registry.url, &["--deep"])).expect(code);
    assert_found(id, status, &ended);
}

#[test]
fn r1_and_k1_a_registry_that_fails_is_found() {
    found_in("R1", "/admin/v1/doctor", |_| Response::new(503, "{}"));
    found_in("K1", "/healthz", |it| Response {
        status: 503,
        body: br#"{"kv":"does not answer","r2":"ok"}"#.to_vec(),
        ..it
    });
}

#[test]
fn r2_to_v1_problems_that_the_registry_states_are_found() {
    stated("R2", "fail", |it| {
        it.faults.push("rule 1 grants nothing".to_owned())
    });
    stated("R3", "warn", |it| {
        it.warnings.push("rule 1 trusts forks".to_owned())
    });
    stated("R4", "fail", |it| it.archives = ArchiveSource::Unsigned);
    stated("R5", "fail", |it| {
        let object = it.object.as_mut().unwrap();
        object.error = Some("its URL answers with status 404".to_owned());
    });
    stated("R6", "fail", |it| it.may_write = false);
    stated("K2", "warn", |it| it.repair.overdue = 7_200);
    stated("K2", "warn", |it| it.repair.enabled = false);
    stated("K3", "fail", |it| {
        it.indices
            .stale
            .push("modules/acme/vpc/aws/versions".to_owned())
    });
    stated("K3", "warn", |it| {
        it.indices
            .missing
            .push("modules/acme/vpc/aws/tags".to_owned())
    });
    stated("K4", "fail", |it| it.audit.complete = false);
    let failover = |change: fn(&mut FailoverAnswer)| {
        stated("K5", "warn", move |it| {
            change(it.failover.as_mut().unwrap())
        });
    };
    let copy = |change: fn(&mut CopyFacts)| {
        stated("K5", "warn", move |it| {
            change(it.failover.as_mut().unwrap().copy.as_mut().unwrap());
        });
    };
    failover(|it| it.serving = ServingBucket::Fallback);
    failover(|it| it.copy = None);
    failover(|it| it.keeps_versions = Some(true));
    copy(|it| it.missing = 2);
    copy(|it| it.error = Some("the second bucket answers 403".to_owned()));
    stated("U1", "fail", |it| {
        it.services[0].error = Some("no answer".to_owned())
    });
    stated("U2", "fail", |it| {
        it.services[1].error = Some("no answer".to_owned())
    });
    stated("V1", "warn", |it| it.version = "9.0.0".to_owned());
}
