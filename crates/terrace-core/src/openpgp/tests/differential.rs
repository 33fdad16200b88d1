//! Lab only: writes cases for the Go oracle.
use super::fixture::{SIGNED, binary, text};
use super::forge::{self, CREATED, Draft, Key, kind};
use crate::openpgp::{
    OpenPgpError, armor, detached_signature, parse_signing_keys, verify_detached,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use std::fmt::Write as _;

fn hex(b: &[u8]) -> String {
    if b.is_empty() {
        return "-".into();
    }
    let mut s = String::new();
    for x in b {
        write!(s, "{x:02x}").unwrap();
    }
    s
}

fn time() -> impl Strategy<Value = u32> + Clone {
    prop_oneof![12 => Just(CREATED), 4 => Just(CREATED+1), 1 => Just(CREATED + 1_000_000), 1 => Just(0u32), 1=>Just(u32::MAX)]
}
fn life() -> impl Strategy<Value = u32> + Clone {
    prop_oneof![3=>Just(0u32), 1=>Just(1u32), 2=>Just(50_000_000u32), 1=>Just(u32::MAX)]
}

fn issuer() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        30 => Just(vec![0u8]), // placeholder 0: own fingerprint
        5 => Just(vec![1u8]),  // own key id
        1 => Just(vec![2u8]),  // both, other's
        1 => Just(vec![3u8]),  // none
        1 => Just(vec![4u8]),  // wrong fp then right key id
    ]
}
fn sub() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => prop_oneof![5=>Just(3u8), 1=>Just(1), 1=>Just(2), 1=>Just(0)].prop_map(forge::key_flags),
        1 => Just(forge::subpacket(27, &[])),
        1 => Just(forge::subpacket(27, &[2, 0])),
        1 => time().prop_map(forge::created),
        1 => life().prop_map(|l| forge::subpacket(3, &l.to_be_bytes())),
        2 => life().prop_map(|l| forge::subpacket(9, &l.to_be_bytes())),
        1 => (0..2u8).prop_map(|b| forge::subpacket(25, &[b])),
        1 => Just(forge::notation("a@b")),
        1 => Just(forge::critical(forge::notation("a@b"))),
        1 => (1..3u8).prop_map(|b| forge::subpacket(4, &[b-1])),
        1 => prop_oneof![Just(0u8),Just(2),Just(3),Just(32),Just(77)].prop_map(|r| forge::subpacket(29, &[r, b'x'])),
        2 => (any::<u8>(), prop::collection::vec(any::<u8>(), 0..22)).prop_map(|(k, c)| forge::subpacket(k, &c)),
        1 => (0..45u8, any::<bool>(), prop::collection::vec(any::<u8>(), 0..5)).prop_map(|(k, cr, c)| { let s = forge::subpacket(k, &c); if cr { forge::critical(s) } else { s } }),
    ]
}
fn subs() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop_oneof![12=>Just(vec![forge::key_flags(3)]), 3=>sub().prop_map(|s| vec![forge::key_flags(3), s]), 2=>prop::collection::vec(sub(), 0..4)]
}

#[derive(Debug, Clone)]
struct D {
    kind_delta: u8,
    t: u32,
    issuer: u8,
    hashed: Vec<Vec<u8>>,
    unhashed: Vec<Vec<u8>>,
    hash: u8,
}
fn d() -> impl Strategy<Value = D> {
    (
        prop_oneof![20=>Just(0u8),1=>Just(1u8)],
        time(),
        issuer(),
        subs(),
        prop_oneof![4=>Just(vec![]),1=>prop::collection::vec(sub(),0..3)],
        Just(0u8),
    )
        .prop_map(|(k, t, i, h, u, hash)| D {
            kind_delta: k,
            t,
            issuer: i[0],
            hashed: h,
            unhashed: u,
            hash,
        })
}
fn draft(x: &D, kind: u8, key: &Key, other: &Key) -> Draft {
    let kind = if x.kind_delta == 1 { 0x18 } else { kind };
    let kid = |k: &Key| -> Vec<u8> {
        let f = k.fingerprint();
        forge::subpacket(16, if f.len() == 32 { &f[..8] } else { &f[12..] })
    };
    let mut hashed = vec![forge::created(x.t)];
    let mut unhashed = x.unhashed.clone();
    match x.issuer {
        0 => hashed.push(key.issuer()),
        1 => unhashed.insert(0, kid(key)),
        2 => {
            hashed.push(other.issuer());
            unhashed.insert(0, kid(other));
        }
        3 => {}
        _ => {
            hashed.push(other.issuer());
            unhashed.insert(0, kid(key));
        }
    }
    hashed.extend(x.hashed.clone());
    Draft {
        kind,
        hashed: hashed.concat(),
        unhashed: unhashed.concat(),
    }
}

#[derive(Debug, Clone)]
enum P {
    Uid(u8, Vec<(bool, bool, D)>),
    Sub(bool, u8, u8, Vec<(bool, bool, u8, D, D)>),
    Rev(bool, D),
    Direct(D),
    Other(u8),
    Sig(u8, D),
}
fn p() -> impl Strategy<Value = P> {
    prop_oneof![
        8 => (0..3u8, prop::collection::vec((prop_oneof![9=>Just(false),1=>Just(true)], prop_oneof![9=>Just(false),1=>Just(true)], d()), 0..3)).prop_map(|(n, s)| P::Uid(n, s)),
        6 => (any::<bool>(), prop_oneof![9=>Just(4u8),1=>Just(6u8)], 0..2u8, prop::collection::vec((prop_oneof![19=>Just(false),1=>Just(true)], prop_oneof![9=>Just(false),1=>Just(true)], 0..12u8, d(), d()), 0..3)).prop_map(|(b, v, n, s)| P::Sub(b, v, n, s)),
        1 => (prop_oneof![9=>Just(false),1=>Just(true)], d()).prop_map(|(b, d)| P::Rev(b, d)),
        2 => d().prop_map(P::Direct),
        1 => prop_oneof![Just(10u8), Just(12), Just(60), Just(21), Just(17), Just(30), Just(63)].prop_map(P::Other),
        1 => (any::<u8>(), d()).prop_map(|(k, d)| P::Sig(k, d)),
    ]
}

fn build(v: u8, ct: u32, ps: &[P]) -> Vec<u8> {
    let key = if v == 6 { Key::v6(1) } else { Key::v4(1) }.created(ct);
    let thief = Key::v4(9);
    let mut out = forge::primary(&key);
    for x in ps {
        match x {
            P::Uid(n, sigs) => {
                let id = format!("u{n}");
                out.extend(forge::packet(13, id.as_bytes()));
                for (rev, foreign, dd) in sigs {
                    let by = if *foreign { &thief } else { &key };
                    let dr = draft(dd, if *rev { 0x30 } else { 0x13 }, by, &key);
                    let length = u32::try_from(id.len()).unwrap().to_be_bytes();
                    let data = [key.hashed().as_slice(), &[0xB4], &length, id.as_bytes()].concat();
                    out.extend(forge::packet(2, &by.sign(&dr, &data)));
                }
            }
            P::Sub(_, sv, n, sigs) => {
                let sub = if *sv == 6 {
                    Key::v6(2 + n)
                } else {
                    Key::v4(2 + n)
                };
                out.extend(forge::packet(14, &sub.body()));
                for (rev, foreign, cross, dd, cd) in sigs {
                    let by = if *foreign { &thief } else { &key };
                    let mut dr = draft(dd, if *rev { 0x28 } else { 0x18 }, by, &sub);
                    if *cross < 11 {
                        let data = [key.hashed(), sub.hashed()].concat();
                        let cdr = draft(cd, 0x19, &sub, &key);
                        let body = if *cross == 10 {
                            thief.sign(&cdr, &data)
                        } else {
                            sub.sign(&cdr, &data)
                        };
                        let len = u32::try_from(body.len() + 1).unwrap().to_be_bytes();
                        let sp = [&[255], &len[..], &[32], &body].concat();
                        if *cross % 2 == 0 {
                            dr.hashed.extend(sp)
                        } else {
                            dr.unhashed.extend(sp)
                        }
                    }
                    out.extend(forge::binding(by, &sub, &dr));
                }
            }
            P::Rev(foreign, dd) => {
                let by = if *foreign { &thief } else { &key };
                out.extend(forge::packet(
                    2,
                    &by.sign(&draft(dd, kind::KEY_REVOCATION, by, &key), &key.hashed()),
                ));
            }
            P::Direct(dd) => out.extend(forge::key_signature(
                &key,
                &draft(dd, kind::DIRECT_KEY, &key, &thief),
            )),
            P::Other(t) => out.extend(forge::packet(
                *t,
                if *t == 10 {
                    b"PGP"
                } else if *t == 17 {
                    &[2, 1, 0]
                } else {
                    b"xx"
                },
            )),
            P::Sig(k, dd) => {
                let mut dr = draft(dd, 0, &key, &thief);
                dr.kind = *k;
                out.extend(forge::key_signature(&key, &dr));
            }
        }
    }
    out
}

fn cert() -> impl Strategy<Value = Vec<u8>> {
    let forged = (
        prop_oneof![5=>Just(4u8),1=>Just(6u8)],
        prop_oneof![12=>Just(CREATED),1=>time()],
        prop_oneof![8=>Just(true),1=>Just(false)],
        prop::collection::vec(p(), 0..3),
    )
        .prop_map(|(v, ct, ensure, mut ps)| {
            if ensure {
                let dd = D {
                    kind_delta: 0,
                    t: CREATED,
                    issuer: 0,
                    hashed: vec![forge::key_flags(3)],
                    unhashed: vec![],
                    hash: 0,
                };
                if v == 6 {
                    ps.insert(0, P::Direct(dd));
                } else {
                    ps.insert(0, P::Uid(7, vec![(false, false, dd)]));
                }
            }
            build(v, ct, &ps)
        });
    let fix = prop::sample::select(super::hostile::certificates());
    prop_oneof![6 => forged.boxed(), 1 => fix.clone().boxed(), 2 => (fix, super::hostile::changes()).prop_map(|(c, ch)| super::hostile::changed(c, &ch)).boxed()]
}
fn sig() -> impl Strategy<Value = Vec<u8>> {
    let one = || {
        (prop_oneof![5=>Just((4u8,1u8)),3=>Just((4,2)),1=>Just((4,3)),2=>Just((6,1)),1=>Just((4,9)),1=>Just((6,2))], prop_oneof![8=>Just(0u8),1=>Just(1),1=>Just(2)], d(), prop_oneof![15=>Just(true),1=>Just(false)], prop_oneof![12=>Just(CREATED),1=>time()]).prop_map(|((v, seed), k, mut dd, right, ct)| {
        if dd.hashed.len() > 2 { dd.hashed.pop(); }
        let key = if v == 6 { Key::v6(seed) } else { Key::v4(seed) }; let key = if seed == 1 { key.created(ct) } else { key };
        let mut dr = draft(&dd, k, &key, &Key::v4(9)); dr.kind = k;
        let data: Vec<u8> = if !right { b"other".to_vec() } else if k == 1 { String::from_utf8(SIGNED.to_vec()).unwrap().replace('\n', "\r\n").into_bytes() } else { SIGNED.to_vec() };
        forge::packet(2, &key.sign(&dr, &data))
    })
    };
    let fix =
        prop::sample::select(super::hostile::SIGNATURES.to_vec()).prop_map(|(_, s)| s.to_vec());
    prop_oneof![
        8 => one().boxed(),
        3 => prop::collection::vec(one(), 1..3).prop_map(|v| v.concat()).boxed(),
        2 => fix.clone().boxed(),
        1 => (fix, super::hostile::changes()).prop_map(|(c, ch)| super::hostile::changed(c, &ch)).boxed()
    ]
}

#[test]
#[ignore]
fn write_cases() {
    let n: u32 = std::env::var("CASES").unwrap().parse().unwrap();
    let seed: u64 = std::env::var("SEED").unwrap_or("1".into()).parse().unwrap();
    let mut runner = TestRunner::new(Config {
        rng_seed: RngSeed::Fixed(seed),
        ..Config::default()
    });
    let strat = (
        prop::collection::vec(cert(), 1..3),
        sig(),
        prop_oneof![3=>Just(1_704_150_000u64), 1=>Just(1_893_456_000u64), 1=>Just(u64::from(CREATED))],
    );
    let mut out =
        std::io::BufWriter::new(std::fs::File::create(std::env::var("OUT").unwrap()).unwrap());
    use std::io::Write as _;
    let pairs = (
        prop::sample::select(super::hostile::SIGNATURES.to_vec()),
        super::hostile::changes(),
        any::<bool>(),
    );
    for _ in 0..n {
        let (mut certs, mut sig, now) = strat.new_tree(&mut runner).unwrap().current();
        if std::env::var("MODE").is_ok() {
            let ((k, s), ch, which) = pairs.new_tree(&mut runner).unwrap().current();
            let k = armor::read(k).unwrap().blocks.remove(0).bytes;
            certs = vec![if which {
                super::hostile::changed(k, &ch)
            } else {
                k
            }];
            sig = if which {
                s.to_vec()
            } else {
                super::hostile::changed(s.to_vec(), &ch)
            };
        }
        let mut keys = vec![];
        let mut line = format!("{now} {} {}", hex(&sig), hex(SIGNED));
        for c in &certs {
            let a = armor::write("PGP PUBLIC KEY BLOCK", c);
            let r = parse_signing_keys(&a);
            let (verdict, served) = match &r {
                Ok(k) => {
                    keys.extend(k.clone());
                    (
                        "ok".to_string(),
                        k.iter()
                            .map(|k| hex(k.ascii_armor().as_bytes()))
                            .collect::<Vec<_>>()
                            .join(","),
                    )
                }
                Err(e) => (format!("{e:?}").replace(' ', "_"), "-".to_string()),
            };
            write!(line, " K {} {} {}", hex(a.as_bytes()), verdict, served).unwrap();
        }
        let v = match detached_signature(&sig) {
            Err(e) => format!("D:{e:?}"),
            Ok(s) => {
                assert_eq!(s, sig);
                match verify_detached(&keys, SIGNED, &sig, now) {
                    Ok(v) => {
                        if v.warnings.iter().any(|w| w.contains("still accept")) {
                            "expired".into()
                        } else {
                            "ok".into()
                        }
                    }
                    Err(OpenPgpError::UnknownIssuer { .. }) => "unknown".into(),
                    Err(e) => format!("V:{e:?}"),
                }
            }
        };
        writeln!(out, "{line} R {}", v.replace(' ', "_")).unwrap();
    }
    let _ = (binary!("default.sig"), text!("default.asc"));
}
