//! Secrets in a wrong place, or quoted by the registry.

use serde_json::json;

use super::support::http::Response;
use super::support::registry::{Fault, Registry, errors};
use super::support::{
    Ended, TOKEN, URL_SECRET, assert_has, assert_lacks, run, run_for_people, run_to_end, terrace,
    words,
};

const API_TOKEN: &str = "terrace_7f3a9c2e51b04d68.MTc5NjkwNDAw.q0Jx-mac_of_it.0f1e2d3c";

/// The parts of the secrets below that must not be printed.
const PARTS: [&str; 4] = ["MTc5NjkwNDAw", "pa5sw0rd", TOKEN, URL_SECRET];

/// Returns a URL with a password and a signature.
fn secret_url() -> String {
    format!("https://me:pa5sw0rd@host/?X-Amz-Signature={URL_SECRET}")
}

#[track_caller]
fn assert_silent(ended: &Ended) {
    let printed = format!("{}{}", ended.stdout, ended.stderr);
    for part in PARTS {
        assert_lacks!(printed, part);
    }
}

#[test]
fn a_secret_in_place_of_a_file_is_not_repeated() {
    let registry = Registry::start();
    let module = ["--address", "acme/vpc/aws", "--version", "1.0.0"];
    for secret in [API_TOKEN, TOKEN, &secret_url()] {
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
    let url = secret_url();
    let reason = format!("{TOKEN}, {API_TOKEN} and {url} will not do");
    for status in [401, 403, 404, 409, 422, 503] {
        let registry = Registry::start();
        let answer = errors(status, &[&reason]).with("retry-after", "0");
        registry.fail("GET", "/keys", Fault::Answer(answer.clone()));
        registry.fail("GET", "/keys", Fault::Answer(answer));
        let mut command = terrace(&["key", "list", "acme", "--retries", "1", "--json"]);
        command.env("TERRACE_URL", registry.url());
        let ended = run_to_end(command.env("TERRACE_TOKEN", TOKEN));
        assert_silent(&ended);
        let hidden =
            "[token hidden], [token hidden] and https://[hidden]@host/?[hidden] will not do";
        assert_has!(ended.errors(), hidden);
    }
    let registry = Registry::start();
    let redirect = Response::new(308, "").with("location", url);
    registry.fail("GET", "/keys", Fault::Answer(redirect));
    let ended = run(&registry, &["key", "list", "acme"]).expect(1);
    assert_silent(&ended);
    assert_has!(ended.errors(), "https://[hidden]@host/");
}

#[test]
fn a_new_token_is_printed() {
    let made = json!({
        "id": "7f3a9c2e51b04d68", "token": API_TOKEN, "name": "CI", "scopes": ["read"],
        "created": "2026-01-01T00:00:00Z", "created_by": "root",
    });
    let registry = Registry::start();
    registry.answer("POST", "/admin/v1/tokens", &made);
    let create = words("token create --name CI --scope read --expires 1d");
    let printed = run(&registry, &create).expect(0).json();
    assert_eq!(printed["token"]["token"], API_TOKEN);
    registry.answer("POST", "/rotation", &made);
    let rotate = words("token rotate 7f3a9c2e51b04d68 --quiet");
    let printed = run_for_people(&registry, &rotate).expect(0);
    assert_eq!(printed.stdout, format!("{API_TOKEN}\n"));
}
