//! Leases: one client fetches for all, and a failing origin is not asked for a while.

use super::{Pulling, amd64};
use crate::support::faults::{Failure, When};

#[test]
fn many_concurrent_clients_cause_one_fetch() {
    let (pulling, fixture) = Pulling::one();
    pulling.memory.interleave();
    let (lists, packages) = (fixture.index(), fixture.packages());
    for answer in pulling.registry.get_at_once(&lists, 32) {
        answer.expect(200);
    }
    assert_eq!(pulling.asked("/versions"), 1);
    let answers = pulling.registry.get_at_once(&packages, 32);
    let urls: Vec<String> = answers
        .into_iter()
        .map(|answer| {
            let json = answer.found();
            json["archives"]["linux_amd64"]["url"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(pulling.asked("/download/"), 1);
    let answers = pulling.registry.get_at_once(&urls[0], 32);
    assert_eq!(pulling.asked(".zip"), 1);
    let streamed = answers.iter().filter(|answer| answer.status == 200);
    assert_eq!(streamed.count(), 1);
    for answer in answers {
        if answer.status != 200 {
            let to = answer.expect(302).header("location").unwrap().to_owned();
            let answers = pulling.registry.get_at_once(&to, 1);
            assert_eq!(answers[0].body, amd64(&fixture));
        }
    }
}

#[test]
fn an_origin_that_fails_is_502_and_not_retried_for_a_while() {
    // R2 accepts one write a second per key, and the lease of a fetch that fails at once has just been written.
    for is_busy in [false, true] {
        let (pulling, fixture) = Pulling::one();
        let memory = pulling.memory.clone();
        pulling.memory.connect(move |_| {
            if is_busy {
                memory.fail("R2 put", 0, When::Before, Failure::Busy);
            }
            None
        });
        for _ in 0..3 {
            let refused = pulling.registry.get(&fixture.index());
            refused.refuses(502, "registry.example.com");
        }
        assert_eq!(pulling.asked("terraform.json"), 1);
        pulling.connect();
        pulling.registry.get(&fixture.index()).expect(502);
        pulling.advance(30);
        assert_eq!(pulling.versions(&fixture), ["1.0.0"]);
    }
}

#[test]
fn an_interrupted_fetch_delays_others_only_briefly() {
    let (pulling, fixture) = Pulling::one();
    for lease in [
        format!("leases/versions/{}", fixture.address()),
        format!("leases/releases/{}/1.0.0", fixture.address()),
    ] {
        let until = 1_800_000_060;
        pulling
            .memory
            .put_object(&lease, until.to_string().as_bytes());
    }
    pulling.registry.get(&fixture.packages()).expect(502);
    pulling.advance(60);
    pulling.registry.get(&fixture.packages()).expect(200);
}

#[test]
fn an_expired_lease_is_taken_by_one_client() {
    let (pulling, fixture) = Pulling::one();
    let lease = format!("leases/versions/{}", fixture.address());
    pulling.memory.put_object(&lease, b"1799999999");
    pulling.memory.interleave();
    for answer in pulling.registry.get_at_once(&fixture.index(), 32) {
        answer.expect(200);
    }
    assert_eq!(pulling.asked("/versions"), 1);
}
