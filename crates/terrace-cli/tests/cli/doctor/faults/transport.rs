//! Faults of the connection, the discovery and the clocks.

use std::fs;

use serde_json::json;
use terrace_base::time::UnixTime;

use super::{DISCOVERY, assert_found, edited, found, found_in, html};
use crate::doctor::certificate::{Template, pem, serving};
use crate::doctor::sound::{Build, Sound, http_date, now, set};
use crate::doctor::{checks, doctor, with_status};
use crate::support::http::{Head, Response};
use crate::support::{Ended, ended};

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
