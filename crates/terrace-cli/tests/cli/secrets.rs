//! Secrets in a wrong place, or quoted by the registry.

use super::support::http::Response;
use super::support::registry::{Fault, Registry, errors};
use super::support::{Ended, TOKEN, URL_SECRET, ended, run, run_to_end, terrace};

const API_TOKEN: &str = "terrace_7f3a9c2e51b04d68.MTc5NjkwNDAw.q0JxbWFj.0f1e2d3c";
const ID_TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJyZXBvIn0.c2lnbmF0dXJl";
const RANDOM: &str = "q7Zp0cT1l9yQ3n/0hXbW2m+R8sKdV5uE6fGjA4iYtLo=";

/// The parts of the secrets above that must not be printed.
const PARTS: [&str; 5] = [
    "MTc5NjkwNDAw",
    "eyJzdWIi",
    "q7Zp0cT1",
    "pa5sw0rd",
    URL_SECRET,
];

#[track_caller]
fn assert_silent(ended: &Ended) {
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    for part in PARTS {
        assert!(!printed.contains(part), "a secret was printed: {printed}");
    }
}

#[test]
fn a_token_in_place_of_its_id_is_not_repeated() {
    for command in ["rotate", "revoke"] {
        for (token, code) in [(API_TOKEN, 6), (ID_TOKEN, 2), (RANDOM, 2), (TOKEN, 2)] {
            let mut command = terrace(&["token", command, token, "--json", "--retries", "0"]);
            command.env("TERRACE_URL", "http://127.0.0.1:9");
            let ended = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(code);
            assert_silent(&ended);
            if code == 2 {
                let asked = "give the ID of one, the 16 hex digits after `terrace_`";
                assert!(ended.errors().contains(asked), "{ended:?}");
                assert!(ended.stderr.contains(asked), "{ended:?}");
            }
        }
    }
}

#[test]
fn a_secret_in_place_of_a_file_is_not_repeated() {
    let registry = Registry::start();
    let module = ["--address", "acme/vpc/aws", "--version", "1.0.0"];
    let url = format!("https://me:pa5sw0rd@host/?X-Amz-Signature={URL_SECRET}");
    for secret in [API_TOKEN, ID_TOKEN, RANDOM, TOKEN, &url] {
        for (arguments, code) in [
            (&["key", "add", "acme", secret] as &[&str], 3),
            (&["publish", "provider", secret, "--namespace", "acme"], 3),
            (&[&["publish", "module", secret], &module[..]].concat(), 3),
            (&["mirror", "push", secret], 3),
            (&["mirror", "sync", secret], 2),
            (&["admin", "import", secret], 3),
            (&["admin", "audit", "--copy", secret], 3),
            (&["admin", "reindex", "--package", secret], 2),
        ] {
            assert_silent(&run(&registry, arguments).expect(code));
        }
    }
    assert!(registry.requests().is_empty());
}

#[test]
fn a_secret_that_the_registry_quotes_is_not_repeated() {
    let url = format!("https://me:pa5sw0rd@host/?X-Amz-Signature={URL_SECRET}");
    let reason = format!("{TOKEN}, {API_TOKEN}, {ID_TOKEN} and {url} will not do");
    for status in [401, 403, 404, 409, 422, 503] {
        let registry = Registry::start();
        let answer = errors(status, &[&reason]).with("retry-after", "0");
        registry.fail("GET", "/keys", Fault::Answer(answer.clone()));
        registry.fail("GET", "/keys", Fault::Answer(answer));
        let mut command = terrace(&["key", "list", "acme", "--retries", "1", "--json"]);
        command.env("TERRACE_URL", registry.url());
        let ended = run_to_end(command.env("TERRACE_TOKEN", TOKEN));
        assert_silent(&ended);
        let hidden = "[token hidden], [token hidden], [token hidden] and \
                      https://[hidden]@host/?[hidden] will not do";
        assert!(ended.errors().contains(hidden), "{ended:?}");
    }
    let registry = Registry::start();
    let redirect = Response::new(308, "").with("location", url);
    registry.fail("GET", "/keys", Fault::Answer(redirect));
    let ended = run(&registry, &["key", "list", "acme"]).expect(1);
    assert_silent(&ended);
    assert!(
        ended.errors().contains("https://[hidden]@host/"),
        "{ended:?}"
    );
}

#[test]
fn a_new_token_is_printed() {
    let made = serde_json::json!({
        "id": "7f3a9c2e51b04d68", "token": API_TOKEN, "name": "CI", "scopes": ["read"],
        "created": "2026-01-01T00:00:00Z", "created_by": "root",
    });
    let answer = || Fault::Answer(Response::new(200, made.to_string()));
    let registry = Registry::start();
    registry.fail("POST", "/admin/v1/tokens", answer());
    let create = [
        "token",
        "create",
        "--name",
        "CI",
        "--scope",
        "read",
        "--expires",
        "1d",
    ];
    let printed = run(&registry, &create).expect(0).json();
    assert_eq!(printed["token"]["token"], API_TOKEN);
    registry.fail("POST", "/rotation", answer());
    let mut command = terrace(&["token", "rotate", "7f3a9c2e51b04d68", "--quiet"]);
    command.env("TERRACE_URL", registry.url());
    let printed = ended(command.env("TERRACE_TOKEN", TOKEN)).expect(0);
    assert_eq!(printed.stdout, format!("{API_TOKEN}\n"));
}
