//! Faults of the connection, the discovery and the clocks.

use serde_json::json;
use terrace_base::time::UnixTime;

use super::{DISCOVERY, assert_found, edited, found_in, html};
use crate::doctor::sound::{Sound, http_date, now, set};
use crate::doctor::{checks, doctor};
use crate::support::ended;
use crate::support::http::Response;

#[test]
fn t2_an_unknown_authority_is_found() {
    let registry = Sound::start(|_, response| response);
    let mut command = doctor(&registry.url, &[]);
    let ended = ended(command.env_remove("SSL_CERT_FILE")).expect(6);
    assert_found("T2", "fail", &ended);
    let fix = checks(&ended)["T2"]["fix"].to_string();
    assert!(fix.contains("SSL_CERT_FILE"), "{fix}");
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
fn t1_a_host_that_cannot_be_resolved_is_found() {
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
