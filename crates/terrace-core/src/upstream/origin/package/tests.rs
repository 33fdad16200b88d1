//! Accepted and rejected packages of an origin. Keys and signatures are those of the `openpgp` tests.

use super::super::testing::answer;
use super::*;

/// A file of the `openpgp` tests.
macro_rules! binary {
    ($name:literal) => {
        include_bytes!(concat!("../../../../../terrace-openpgp/testdata/", $name)).as_slice()
    };
}
macro_rules! text {
    ($name:literal) => {
        include_str!(concat!("../../../../../terrace-openpgp/testdata/", $name))
    };
}

const FILENAME: &str = "terraform-provider-widget_1.0.0_linux_amd64.zip";
const SHASUM: &str = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
const SHASUMS: &str = text!("SHA256SUMS");
const NEXT_DAY: UnixTime = UnixTime(1_704_150_000);
const YEARS_LATER: UnixTime = UnixTime(1_893_456_000);

/// The responses of an origin, to be modified by tests.
struct Origin {
    hostname: &'static str,
    description: String,
    shasums: Vec<u8>,
    signature: Vec<u8>,
    now: UnixTime,
}

impl Origin {
    fn good() -> Self {
        Self {
            hostname: "registry.example.com",
            description: description(&[text!("rsa2048.asc")]),
            shasums: SHASUMS.as_bytes().to_vec(),
            signature: binary!("rsa2048.sig").to_vec(),
            now: NEXT_DAY,
        }
    }

    fn describing(edit: impl Fn(&str) -> String) -> Self {
        let good = Self::good();
        Self {
            description: edit(&good.description),
            ..good
        }
    }

    fn signed_by(keys: &[&str], signature: &[u8]) -> Self {
        Self {
            description: description(keys),
            signature: signature.to_vec(),
            ..Self::good()
        }
    }

    fn inquiry(&self) -> PackageInquiry {
        let service = Service::read(&answer(r#"{"providers.v1": "/v1/providers/"}"#)).unwrap();
        let address = format!("{}/acme/widget", self.hostname);
        PackageInquiry::new(
            &service,
            address.parse().unwrap(),
            &"1.0.0".parse().unwrap(),
            "linux_amd64".parse().unwrap(),
            self.now,
        )
    }

    /// Runs the inquiry, and returns its requests with the result.
    fn ask(&self) -> (Vec<Fetch>, Result<OriginPackage, OriginError>) {
        let mut inquiry = self.inquiry();
        let mut asked = Vec::new();
        while let InquiryStep::Fetch(fetch) = inquiry.next() {
            let body = match fetch.what {
                "package description" => self.description.as_bytes(),
                "SHA256SUMS" => &self.shasums,
                _ => &self.signature,
            };
            let fed = inquiry.feed(&answer(body));
            asked.push(fetch);
            if let Err(error) = fed {
                assert_eq!(inquiry.next(), InquiryStep::Done, "an error is the end");
                assert_eq!(inquiry.feed(&answer("{}")), Err(error));
            }
        }
        (asked, inquiry.finish())
    }

    #[track_caller]
    fn accepted(&self) -> OriginPackage {
        self.ask().1.unwrap()
    }

    #[track_caller]
    fn refused(&self) -> OriginError {
        let error = self.ask().1.unwrap_err();
        let text = error.to_string();
        assert!(!text.contains(char::is_control), "{text:?}");
        assert!(text.len() < 2000, "{text}");
        error
    }
}

fn description(keys: &[&str]) -> String {
    let keys: Vec<String> = keys
        .iter()
        .map(|key| {
            format!(r#"{{"key_id": "wrong", "ascii_armor": {key:?}, "trust_signature": ""}}"#)
        })
        .collect();
    let keys = keys.join(",");
    format!(
        r#"{{"protocols": ["6.0", "5"], "os": "linux", "arch": "amd64", "filename": "{FILENAME}",
            "download_url": "https://dl.example/a.zip?X-Sig=aa%2Fbb", "shasum": "{SHASUM}",
            "shasums_url": "../sums", "shasums_signature_url": "sums.sig",
            "signing_keys": {{"gpg_public_keys": [{keys}]}}, "packages": {{}}}}"#
    )
}

#[test]
fn a_valid_package_is_requested_in_three_steps_and_accepted_2_2_2() {
    let (asked, package) = Origin::good().ask();
    let references: Vec<&str> = asked.iter().map(|fetch| fetch.reference.as_str()).collect();
    let description = "/v1/providers/acme/widget/1.0.0/download/linux/amd64";
    assert_eq!(references, [description, "../sums", "sums.sig"]);
    let package = package.unwrap();
    assert_eq!(package.filename, FILENAME);
    assert_eq!(package.sha256.to_string(), SHASUM);
    assert_eq!(package.shasums.as_str(), SHASUMS);
    let protocols: Vec<String> = package.protocols.iter().map(ToString::to_string).collect();
    assert_eq!(protocols, ["5.0", "6.0"]);
    let signed = package.signed.unwrap();
    assert_eq!(signed.signature, binary!("rsa2048.sig"));
    assert!(
        signed
            .key
            .ascii_armor
            .starts_with("-----BEGIN PGP PUBLIC KEY")
    );
    assert_eq!(signed.key.fingerprint.len(), 40);
}

#[test]
fn a_known_sha256sums_is_not_requested_again_if_it_lists_the_package() {
    let known = [Origin::good().accepted()];
    let about = |name: &str| {
        let mut inquiry = Origin::good().inquiry().knowing(&known);
        let text = description(&[text!("rsa2048.asc")]).replace(FILENAME, name);
        inquiry.feed(&answer(&text)).unwrap();
        inquiry
    };
    let package = about(FILENAME).finish().unwrap();
    assert_eq!(package.signed, known[0].signed);
    assert!(matches!(about("other.zip").next(), InquiryStep::Fetch(_)));
    // Clients accept the signature only by a key of this description.
    for keys in [&[text!("ed25519.asc")][..], &[]] {
        let mut inquiry = Origin::good().inquiry().knowing(&known);
        inquiry.feed(&answer(description(keys))).unwrap();
        assert!(matches!(inquiry.next(), InquiryStep::Fetch(_)));
    }
}

#[test]
fn only_the_request_for_the_description_carries_the_token_2_2_6() {
    let (asked, package) = Origin::good().ask();
    let with_token: Vec<bool> = asked.iter().map(|fetch| fetch.with_token).collect();
    assert_eq!(with_token, [true, false, false]);
    assert!(!package.unwrap().download.with_token);
}

#[test]
fn the_urls_are_kept_byte_for_byte_and_are_relative_to_the_final_url_2_2_4_2_2_6() {
    let (asked, package) = Origin::good().ask();
    let final_url = Some("https://origin.example/final");
    assert!(
        asked[1..]
            .iter()
            .all(|fetch| fetch.base.as_deref() == final_url)
    );
    let download = package.unwrap().download;
    assert_eq!(download.reference, "https://dl.example/a.zip?X-Sig=aa%2Fbb");
    assert_eq!(download.base.as_deref(), final_url);
    assert_eq!(download.max_bytes, limits::ARCHIVE_BYTES);
}

#[test]
fn another_platform_than_requested_is_rejected_2_2_1() {
    for (from, to) in [
        (r#""os": "linux""#, r#""os": "Linux""#),
        (r#""os": "linux""#, r#""os": "windows""#),
        (r#""arch": "amd64""#, r#""arch": "arm64\u001b[31m""#),
    ] {
        let error = Origin::describing(|text| text.replace(from, to)).refused();
        assert!(
            matches!(error, OriginError::OtherPlatform { .. }),
            "{error}"
        );
    }
}

#[test]
fn the_publisher_chooses_the_file_name_2_3_1() {
    for name in [
        "terraform-provider-widget_v1.0.0_linux_amd64.zip",
        "widget-1.0.0-Linux-x86_64+cgo~1.zip",
    ] {
        let key = text!("rsa2048.asc");
        let named = Origin {
            shasums: SHASUMS.replace(FILENAME, name).into_bytes(),
            ..Origin::describing(|_| description(&[key]).replace(FILENAME, name))
        };
        // The signature is that of another text; everything before it is accepted.
        let refused = named.refused();
        assert!(matches!(refused, OriginError::Signature(_)), "{refused}");
        let not_listed = Origin::describing(|text| text.replace(FILENAME, name)).refused();
        assert_eq!(not_listed, OriginError::NotListed(name.to_owned()));
    }
    for name in [
        "../terraform-provider-widget_1.0.0_linux_amd64.zip",
        "/etc/passwd",
        "",
        "\\u001b",
        &"x".repeat(256),
    ] {
        let error = Origin::describing(|text| text.replace(FILENAME, name)).refused();
        assert!(error.to_string().starts_with("filename"), "{error}");
    }
}

#[test]
fn missing_fields_and_fields_of_other_types_are_rejected() {
    for field in [
        "os",
        "arch",
        "filename",
        "download_url",
        "shasum",
        "shasums_url",
        "shasums_signature_url",
    ] {
        let member = format!("\"{field}\": ");
        let renamed = format!("\"x{field}\": ");
        let error = Origin::describing(|text| text.replace(&member, &renamed)).refused();
        assert!(error.to_string().contains(field), "{error}");
        let number = format!("\"{field}\": 1, \"x{field}\": ");
        let error = Origin::describing(|text| text.replace(&member, &number)).refused();
        assert!(matches!(error, OriginError::Json { .. }), "{error}");
    }
    let error = Origin::describing(|text| text.replace("[\"6.0\", \"5\"]", "\"6.0\"")).refused();
    assert!(matches!(error, OriginError::Json { .. }), "{error}");
    let deep = "[".repeat(5_000);
    let error = Origin::describing(|_| format!("{{\"packages\": {deep}")).refused();
    assert!(matches!(error, OriginError::Json { .. }), "{error}");
}

#[test]
fn urls_that_programs_parse_differently_are_rejected() {
    for url in [
        "",
        "a b",
        "https:\\\\\\\\evil.example",
        "a\\nb",
        "https://é.example/",
    ] {
        for field in ["download_url", "shasums_url", "shasums_signature_url"] {
            let error = Origin::describing(|text| {
                text.replace(
                    &format!("\"{field}\": \""),
                    &format!("\"{field}\": \"{url}\", \"x{field}\": \""),
                )
            })
            .refused();
            assert!(error.to_string().starts_with(field), "{error}");
        }
    }
}

#[test]
fn protocols_include_one_that_clients_run_or_are_omitted_2_2_3() {
    let with =
        |protocols: &str| Origin::describing(|text| text.replace("[\"6.0\", \"5\"]", protocols));
    for none in ["null", "[]"] {
        assert!(with(none).accepted().protocols.is_empty());
    }
    assert!(with(r#"["4.0", "5.0"]"#).ask().1.is_ok());
    let error = with(r#"["4.0", "7.0"]"#).refused();
    assert_eq!(error, OriginError::NoProtocol("4.0, 7.0".to_owned()));
    let error = with(r#"["x\u001b"]"#).refused();
    assert!(matches!(error, OriginError::Field { .. }), "{error}");
    let many = format!("[{}]", [r#""5.0""#; 9].join(","));
    assert!(matches!(with(&many).refused(), OriginError::TooMany { .. }));
}

#[test]
fn the_shasum_is_a_digest_and_matches_sha256sums_2_2_5_2_3_1() {
    let with = |shasum: &str| Origin::describing(|text| text.replace(SHASUM, shasum));
    assert_eq!(
        with(&SHASUM.to_ascii_uppercase())
            .accepted()
            .sha256
            .to_string(),
        SHASUM
    );
    for bad in ["", "2c26", "z", "\\u001b"] {
        let error = with(bad).refused();
        assert!(error.to_string().starts_with("shasum"), "{error}");
    }
    let other = Sha256::of(b"other").to_string();
    let error = with(&other).refused();
    assert!(matches!(error, OriginError::OtherDigest { .. }), "{error}");
    assert!(error.to_string().contains(SHASUM) && error.to_string().contains(&other));
}

#[test]
fn a_sha256sums_that_clients_cannot_use_is_rejected_2_3_1_2_3_2() {
    let with = |shasums: &[u8]| {
        Origin {
            shasums: shasums.to_vec(),
            ..Origin::good()
        }
        .refused()
    };
    let listed = |name: &str| format!("{SHASUM}  {name}\n");
    let not_listed = OriginError::NotListed(FILENAME.to_owned());
    assert_eq!(with(listed("other.zip").as_bytes()), not_listed);
    for text in [
        format!("{SHASUMS}\n"),
        format!("\n{SHASUMS}"),
        SHASUMS.replace('\n', "\n\n"),
        listed(&format!("*{FILENAME}")),
        listed(&format!("./{FILENAME}")),
        "# a comment\n".to_owned() + SHASUMS,
        String::new(),
    ] {
        let error = with(text.as_bytes());
        assert!(
            matches!(error, OriginError::Shasums(_)),
            "{text:?}: {error}"
        );
    }
    assert!(matches!(with(&[0xff, 0xfe]), OriginError::Json { .. }));
    let long = "x".repeat(limits::SHASUMS_BYTES + 1);
    assert!(matches!(with(long.as_bytes()), OriginError::TooLong { .. }));
}

#[test]
fn the_signature_must_be_of_exactly_these_bytes_2_3_7() {
    let origin = Origin {
        // Clients parse it in the same way, but the signed text is another one.
        shasums: SHASUMS.replace("  ", " ").into_bytes(),
        ..Origin::good()
    };
    let error = origin.refused();
    let expected = matches!(
        error,
        OriginError::Signature(OpenPgpError::WrongSignature(_))
    );
    assert!(expected, "{error}");
}

#[test]
fn a_signature_by_an_unlisted_key_is_rejected_with_both_key_ids_2_3_7() {
    let error = Origin::signed_by(&[text!("ed25519.asc")], binary!("rsa2048.sig")).refused();
    assert!(matches!(error, OriginError::Issuer { .. }), "{error}");
    let ids = |text| {
        openpgp::parse_signing_keys(text).unwrap()[0]
            .key_id()
            .to_string()
    };
    for key in [text!("ed25519.asc"), text!("rsa2048.asc")] {
        assert!(error.to_string().contains(&ids(key)), "{error}");
    }
}

#[test]
fn anything_but_a_binary_detached_signature_is_rejected_2_3_3() {
    let armored = "-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----\n";
    for signature in [
        b"".as_slice(),
        b"<html>",
        armored.as_bytes(),
        binary!("inline.gpg"),
        text!("clear.asc").as_bytes(),
        text!("rsa2048.asc").as_bytes(),
        &[0x88; 20_000],
    ] {
        let error = Origin::signed_by(&[text!("rsa2048.asc")], signature).refused();
        assert!(matches!(error, OriginError::Signature(_)), "{error}");
    }
    let max = usize::try_from(ORIGIN_SIGNATURE_BYTES).unwrap();
    let error = Origin::signed_by(&[text!("rsa2048.asc")], &vec![0x88; max + 1]).refused();
    assert!(matches!(error, OriginError::TooLong { .. }), "{error}");
}

#[test]
fn the_keys_are_tried_in_order_2_3_5() {
    let (rsa, other) = (text!("rsa2048.asc"), text!("ed25519.asc"));
    let signature = binary!("rsa2048.sig");
    assert!(Origin::signed_by(&[other, rsa], signature).ask().1.is_ok());
    assert!(
        Origin::signed_by(&[rsa, "no armour"], signature)
            .ask()
            .1
            .is_ok()
    );
    let error = Origin::signed_by(&["no armour", rsa], signature).refused();
    assert!(
        matches!(error, OriginError::Key { place: 1, .. }),
        "{error}"
    );
    // Clients can parse these keys, and find that they did not make the signature.
    for useless in [
        text!("revoked.asc"),
        text!("certify-only.asc"),
        text!("nistp521.asc"),
    ] {
        assert!(
            Origin::signed_by(&[useless, rsa], signature)
                .ask()
                .1
                .is_ok()
        );
    }
    let many = vec![rsa; limits::KEYS + 1];
    let error = Origin::signed_by(&many, signature).refused();
    assert!(matches!(error, OriginError::TooMany { .. }), "{error}");
}

#[test]
fn only_the_first_of_two_key_blocks_in_one_text_is_used_2_3_5() {
    let (rsa, other) = (text!("rsa2048.asc"), text!("ed25519.asc"));
    let signature = binary!("rsa2048.sig");
    let first = format!("{rsa}{other}");
    assert!(Origin::signed_by(&[&first], signature).ask().1.is_ok());
    let second = format!("{other}{rsa}");
    let error = Origin::signed_by(&[&second], signature).refused();
    assert!(matches!(error, OriginError::Issuer { .. }), "{error}");
}

#[test]
fn expiry_and_revocation_are_judged_by_the_current_time_2_3_7() {
    let years_later = |key, signature| Origin {
        now: YEARS_LATER,
        ..Origin::signed_by(&[key], signature)
    };
    let revoked = (text!("revoked-subkey.asc"), binary!("revoked-subkey.sig"));
    let expired = (text!("default.asc"), binary!("expiring.sig"));
    for (key, signature) in [revoked, expired] {
        assert!(Origin::signed_by(&[key], signature).ask().1.is_ok());
        let error = years_later(key, signature).refused();
        assert!(matches!(error, OriginError::Signature(_)), "{error}");
    }
    let expired_key = years_later(text!("expiring.asc"), binary!("expiring-key.sig"));
    assert_eq!(expired_key.accepted().warnings.len(), 1);
}

#[test]
fn only_registry_opentofu_org_may_list_no_keys_2_3_6() {
    let none = || Origin::signed_by(&[], b"");
    assert_eq!(none().refused(), OriginError::NoKeys);
    let without = Origin::describing(|text| text.replace("\"signing_keys\"", "\"x\""));
    assert_eq!(without.refused(), OriginError::NoKeys);
    let opentofu = Origin {
        hostname: MAY_BE_UNSIGNED,
        ..none()
    };
    let (asked, package) = opentofu.ask();
    assert_eq!(asked.len(), 2, "there is no key to verify a signature with");
    let package = package.unwrap();
    assert!(package.signed.is_none());
    assert_eq!(package.warnings.len(), 1);
    assert_eq!(package.check_pin(&[]), Ok(()));
    let pinned = [Origin::good().accepted().signed.unwrap().key];
    let error = package.check_pin(&pinned).unwrap_err();
    assert!(
        matches!(error, OriginError::NoLongerSigned { .. }),
        "{error}"
    );
    // If the origin lists a key, the signature is checked as for any other registry.
    let signed = Origin {
        hostname: MAY_BE_UNSIGNED,
        ..Origin::signed_by(&[text!("ed25519.asc")], binary!("rsa2048.sig"))
    };
    assert!(matches!(signed.refused(), OriginError::Issuer { .. }));
}

#[test]
fn a_package_is_checked_against_the_pinned_keys() {
    let package = Origin::good().accepted();
    let own = [package.signed.clone().unwrap().key];
    assert_eq!(package.check_pin(&own), Ok(()));
    let ed25519 = Origin::signed_by(&[text!("ed25519.asc")], binary!("ed25519.sig")).accepted();
    let error = ed25519.check_pin(&own).unwrap_err().to_string();
    for key in [&own[0], &ed25519.signed.unwrap().key] {
        assert!(error.contains(&key.fingerprint), "{error}");
    }
}

#[test]
fn every_status_but_200_ends_the_inquiry() {
    for status in [301, 401, 404, 410, 429, 500] {
        let mut inquiry = Origin::good().inquiry();
        let fetched = Fetched {
            status,
            ..answer("{}")
        };
        assert!(inquiry.feed(&fetched).is_err(), "{status}");
        assert_eq!(inquiry.next(), InquiryStep::Done);
    }
}

#[test]
fn an_unfinished_inquiry_has_no_package() {
    let inquiry = Origin::good().inquiry();
    assert_eq!(inquiry.finish(), Err(OriginError::Unfinished));
}
