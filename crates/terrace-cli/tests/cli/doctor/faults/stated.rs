//! Faults that the registry states about itself.

use terrace_core::api::admin::{ArchiveSource, CopyFacts, DoctorAnswer, FailoverAnswer};
use terrace_core::storage::failover::ServingBucket;

use super::{assert_found, found_in};
use crate::doctor::sound::Sound;
use crate::doctor::{checks, doctor};
use crate::support::ended;
use crate::support::http::Response;

/// Checks a fact that the registry states about itself.
#[track_caller]
fn stated(id: &str, status: &str, change: impl FnOnce(&mut DoctorAnswer)) {
    let registry = Sound::start(|_, response| response);
    registry.set_facts(change);
    let code = if status == "fail" { 3 } else { 0 };
    let ended = ended(&mut doctor(&registry.url, &[])).expect(code);
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
fn k5_a_failover_is_found_while_the_registry_states_no_other_facts() {
    let registry = Sound::start(|head, response| match head.target.as_str() {
        "/healthz" | "/admin/v1/doctor" => Response {
            status: 503,
            body: br#"{"kv":"ok","r2":"does not answer"}"#.to_vec(),
            ..response
        },
        _ => response,
    });
    registry.set_facts(|it| {
        let state = it.failover.as_mut().unwrap();
        state.serving = ServingBucket::Fallback;
        state.reason = Some("R2 is down".to_owned());
    });
    let ended = ended(&mut doctor(&registry.url, &[])).expect(3);
    let checks = checks(&ended);
    assert_eq!(checks["K1"]["status"], "fail");
    assert_eq!(checks["K4"]["observed"], "K1 failed");
    assert_eq!(checks["K5"]["status"], "warn");
    let observed = checks["K5"]["observed"].to_string();
    assert!(observed.contains("R2 is down"), "{observed}");
}

#[test]
fn k5_every_difference_of_the_buckets_is_stated_with_the_action_against_it() {
    let registry = Sound::start(|_, response| response);
    registry.set_facts(|it| {
        let copy = it.failover.as_mut().unwrap().copy.as_mut().unwrap();
        (copy.stored, copy.missing, copy.erased, copy.surplus) = (1_000, 900, 1, 2);
    });
    let ended = ended(&mut doctor(&registry.url, &["--only", "K5"])).expect(0);
    let check = &checks(&ended)["K5"];
    let observed = check["observed"].to_string();
    for text in ["900 of 1000", "1 erased archive", "had 2 archives"] {
        assert!(observed.contains(text), "{observed}");
    }
    let fix = check["fix"].to_string();
    for text in ["terrace admin replicate`", "ten erased", "(surplus)"] {
        assert!(fix.contains(text), "{fix}");
    }
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
    copy(|it| it.erased = 2);
    copy(|it| it.surplus = 2);
    copy(|it| it.error = Some("the second bucket answers 403".to_owned()));
    stated("U1", "fail", |it| {
        it.services[0].error = Some("no answer".to_owned())
    });
    stated("U2", "fail", |it| {
        it.services[1].error = Some("no answer".to_owned())
    });
    stated("V1", "warn", |it| it.version = "9.0.0".to_owned());
}
