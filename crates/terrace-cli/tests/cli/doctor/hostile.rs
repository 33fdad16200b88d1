//! Servers that mean harm: bounded time, memory and output.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use super::sound::{Sound, http_date, now, set};
use super::{checks, doctor, with_status};
use crate::support::http::Response;
use crate::support::{Ended, TOKEN, URL_SECRET, assert_has, assert_lacks, ended, fixture, terrace};

/// The time that a run may take: each of a few requests in turn uses its second, and archives six.
const MOST: Duration = Duration::from_secs(60);

/// Starts a plain server that writes `start`, and then `more` again and again, with a pause in between.
fn endless(start: &'static str, more: &'static [u8], pause: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                let mut written = stream.write_all(start.as_bytes());
                while written.is_ok() {
                    thread::sleep(pause);
                    written = stream.write_all(more);
                }
            });
        }
    });
    url
}

const SHORT: [&str; 2] = ["--timeout", "1s"];

/// Examines a registry, which must not take too long.
#[track_caller]
fn in_time(url: &str, arguments: &[&str]) -> Ended {
    let start = Instant::now();
    let result = ended(&mut doctor(url, arguments));
    assert!(start.elapsed() < MOST, "{:?}", start.elapsed());
    result
}

#[test]
fn slow_headers_and_slow_bodies_end_in_time() {
    let pause = Duration::from_millis(200);
    for (start, more) in [
        ("HTTP/1.1 200 OK\r\n", &b"x-a: b\r\n"[..]),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", b" "),
    ] {
        let result = in_time(&endless(start, more, pause), &SHORT).expect(6);
        assert_eq!(with_status(&result, "fail"), ["T1"], "{result:#?}");
    }
}

#[test]
fn endless_headers_and_endless_bodies_are_cut() {
    let header = b"x-a: bbbbbbbbbbbbbbbbbbbbbbbbbbb\r\n";
    let headers = endless("HTTP/1.1 200 OK\r\n", header, Duration::ZERO);
    in_time(&headers, &SHORT).expect(6);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
    let body = endless(head, &[b' '; 65536], Duration::ZERO);
    let result = in_time(&body, &SHORT);
    assert!(matches!(result.code, 3 | 6), "{result:#?}");
}

#[test]
fn a_huge_archive_is_not_downloaded_without_deep() {
    let gigabyte = 1024 * 1024 * 1024;
    let registry = Sound::start(move |head, mut response| {
        if head.target.ends_with(".zip") && response.status == 200 {
            response.body = vec![0; 4096];
            response.announced = Some(gigabyte);
        }
        response
    });
    let result = ended(&mut doctor(&registry.url, &["--only", "D3"])).expect(0);
    assert_eq!(with_status(&result, "skip"), ["D3"], "{result:#?}");
    let observed = checks(&result)["D3"]["observed"].to_string();
    assert_has!(observed, "1.00 GiB are downloaded with --deep only");
}

#[test]
fn an_archive_without_an_end_is_cut_by_its_size_and_with_deep_by_the_time() {
    let registry = Sound::start(|head, mut response| {
        if head.target.ends_with(".zip") && head.method == "GET" && response.status == 200 {
            response.body = vec![0; 256 * 1024];
            return response.endless();
        }
        response
    });
    let result = in_time(&registry.url, &["--only", "D3", "--timeout", "20s"]).expect(0);
    let observed = checks(&result)["D3"]["observed"].to_string();
    assert_has!(observed, "--deep only");
    let deep = ["--only", "D3", "--deep", "--timeout", "1s"];
    let result = in_time(&registry.url, &deep).expect(3);
    assert_has!(result.stdout, "more than 6 s");
}

#[test]
fn redirects_in_a_circle_end_wherever_they_are() {
    for part in ["/v1/", "/archives/", "/healthz", "/admin/", "/api/"] {
        let registry = Sound::start(move |head, response| match head.target.contains(part) {
            true => set(Response::new(302, ""), "location", &head.target),
            false => response,
        });
        let result = in_time(&registry.url, &SHORT);
        assert!(matches!(result.code, 0 | 3), "{part}: {result:#?}");
    }
}

#[test]
fn a_deeply_nested_document_ends_no_check_early() {
    let registry = Sound::start(|head, mut response| {
        let is_of_catalog = head.target.starts_with("/api/") || head.target == "/healthz";
        if is_of_catalog || head.target.ends_with("/versions") {
            response.body = b"[".repeat(500_000);
        }
        response
    });
    let named = ["--provider", "acme/hello", "--module", "acme/vpc/aws"];
    let result = ended(&mut doctor(&registry.url, &named)).expect(3);
    assert_eq!(with_status(&result, "fail"), ["M1", "P1"], "{result:#?}");
}

#[test]
fn no_text_of_a_server_controls_the_terminal_or_fills_it() {
    let registry = Sound::start(|head, response| {
        let escape = "\x1b[2J\x1b]0;owned\x07\u{202e}".repeat(10_000);
        match head.target.as_str() {
            "/.well-known/terraform.json" => set(response, "content-type", "text/\u{1b}[31mhtml"),
            "/healthz" => Response::new(200, format!("{{\"kv\":\"{escape}\",\"r2\":\"\"}}"))
                .with("date", http_date(now())),
            _ => response,
        }
    });
    registry.set_facts(|facts| facts.warnings.push("a\x1b[2Jb\n✓ R9 forged ".repeat(1_000)));
    let json = ended(&mut doctor(&registry.url, &[]));
    let mut command = terrace(&["doctor", &registry.url, "--only", "S,R,K1,T"]);
    command.env("SSL_CERT_FILE", fixture("tls/cert.pem"));
    command.env("TERRACE_URL", &registry.url);
    let text = ended(command.env("TERRACE_TOKEN", TOKEN));
    for result in [&json, &text] {
        assert_lacks!(result.stdout, "\x1b", "\u{202e}");
        assert!(result.stdout.len() < 40_000, "{}", result.stdout.len());
    }
    let mut lines = text.stdout.lines();
    assert!(!lines.any(|line| line.trim_start().starts_with("✓ R9")));
}

#[test]
fn no_signature_of_a_url_is_printed_even_if_a_server_repeats_it() {
    let signed = format!("https://10.1.2.3/x.zip?X-Amz-Signature={URL_SECRET}");
    let registry = Sound::start(
        move |head, response| match head.target.contains("/archives/") {
            true => Response::new(302, "").with("location", &signed),
            false => response,
        },
    );
    // `ended` checks that the secret is not printed.
    let result = ended(&mut doctor(&registry.url, &[]));
    assert_has!(result.stdout, "10.1.2.3");
    let fix = checks(&result)["P2"]["fix"].to_string();
    assert_has!(fix, "--archive-host");
}
