//! `terrace admin audit`.

use serde_json::json;
use terrace_base::digest::Sha256;

use super::answers;
use crate::support::registry::Registry;
use crate::support::{assert_has, run_for_people};

#[test]
fn an_entry_of_a_job_names_its_workflow() {
    let registry = Registry::start();
    let entry = json!({
        "number": 1, "at": 0, "by": "token 7 (job x)", "from": "192.0.2.1", "status": 201,
        "what": "PUT /admin/v1/modules/acme/vpc/aws/1.0.0", "previous": Sha256::of(b"").to_string(),
        "provenance": {
            "issuer": "https://gitlab.example.com", "workflow": "ci.yml", "url": "https://gitlab.example.com/acme/vpc",
        },
    });
    let page = json!({ "entries": [entry.to_string()], "newest": 1 });
    answers(&registry, "/admin/v1/audit", &page);
    let shown = run_for_people(&registry, &["admin", "audit"])
        .expect(0)
        .stdout;
    let job = "token 7 (job x), workflow ci.yml of repository https://gitlab.example.com/acme/vpc from 192.0.2.1";
    assert_has!(shown, job);
}
