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
        loop {
            asked.push(inquiry.next());
            let body = match asked.last().unwrap().what {
                "package description" => self.description.as_bytes(),
                "SHA256SUMS" => &self.shasums,
                _ => &self.signature,
            };
            if let Some(done) = inquiry.feed(&answer(body)).transpose() {
                return (asked, done);
            }
        }
    }

    #[track_caller]
    fn accepted(&self) -> OriginPackage {
        self.ask().1.unwrap()
    }

    /// Checks that the package is refused for a reason with this text, and returns the whole reason.
    #[track_caller]
    fn refused(&self, reason: &str) -> String {
        let text = self.ask().1.unwrap_err().to_string();
        assert!(text.contains(reason), "{text}");
        assert!(!text.contains(char::is_control), "{text:?}");
        assert!(text.len() < 2000, "{text}");
        text
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

const NOT_PARSED: &str = "is not a document that clients can parse";
const ABOUT_SIGNATURE: &str = "signature of SHA256SUMS: ";
const OTHER_ISSUER: &str = "but the origin lists only the keys";

#[test]
fn a_valid_package_is_requested_in_three_steps_and_accepted_2_2_2_2_2_4_2_2_6() {
    let (asked, package) = Origin::good().ask();
    let asked = asked.iter().map(|fetch| {
        let Fetch {
            base,
            reference,
            with_token,
            ..
        } = fetch;
        (base.as_deref(), reference.as_str(), *with_token)
    });
    let origin = Some("https://origin.example/final");
    let description = "/v1/providers/acme/widget/1.0.0/download/linux/amd64";
    assert_eq!(
        asked.collect::<Vec<_>>(),
        [
            (origin, description, true),
            (origin, "../sums", false),
            (origin, "sums.sig", false),
        ]
    );
    let package = package.unwrap();
    assert_eq!(package.filename, FILENAME);
    assert_eq!(package.sha256.to_string(), SHASUM);
    assert_eq!(package.shasums.as_str(), SHASUMS);
    let protocols: Vec<String> = package.protocols.iter().map(ToString::to_string).collect();
    assert_eq!(protocols, ["5.0", "6.0"]);
    let signed = package.signed.unwrap();
    assert_eq!(signed.signature, binary!("rsa2048.sig"));
    let armor = signed.key.ascii_armor;
    assert!(armor.starts_with("-----BEGIN PGP PUBLIC KEY"));
    assert_eq!(signed.key.fingerprint.len(), 40);
    // The URL is kept byte for byte.
    let download = package.download;
    assert_eq!(download.reference, "https://dl.example/a.zip?X-Sig=aa%2Fbb");
    assert_eq!(download.base.as_deref(), origin);
    assert_eq!(download.max_bytes, limits::ARCHIVE_BYTES);
    assert!(!download.with_token);
}

#[test]
fn a_known_sha256sums_is_not_requested_again_if_it_lists_the_package() {
    let known = [Origin::good().accepted()];
    let about = |name: &str, keys: &[&str]| {
        let mut inquiry = Origin::good().inquiry().knowing(&known);
        let text = description(keys).replace(FILENAME, name);
        inquiry.feed(&answer(&text)).unwrap()
    };
    let own = [text!("rsa2048.asc")];
    let package = about(FILENAME, &own).unwrap();
    assert_eq!(package.signed, known[0].signed);
    assert_eq!(about("other.zip", &own), None);
    // Clients accept the signature only by a key of this description.
    for keys in [&[text!("ed25519.asc")][..], &[]] {
        assert_eq!(about(FILENAME, keys), None);
    }
}

#[test]
fn another_platform_than_requested_is_rejected_2_2_1() {
    for (from, to) in [
        (r#""os": "linux""#, r#""os": "Linux""#),
        (r#""os": "linux""#, r#""os": "windows""#),
        (r#""arch": "amd64""#, r#""arch": "arm64\u001b[31m""#),
    ] {
        let origin = Origin::describing(|text| text.replace(from, to));
        origin.refused("linux_amd64 was requested, but");
    }
}

#[test]
fn the_publisher_chooses_the_file_name_2_3_1() {
    let named = |name: &str| Origin::describing(|text| text.replace(FILENAME, name));
    for name in [
        "terraform-provider-widget_v1.0.0_linux_amd64.zip",
        "widget-1.0.0-Linux-x86_64+cgo~1.zip",
    ] {
        let listed = Origin {
            shasums: SHASUMS.replace(FILENAME, name).into_bytes(),
            ..named(name)
        };
        // The signature is that of another text; everything before it is accepted.
        listed.refused(ABOUT_SIGNATURE);
        named(name).refused(&format!("does not list {name}"));
    }
    for name in [
        "../terraform-provider-widget_1.0.0_linux_amd64.zip",
        "/etc/passwd",
        "",
        "\\u001b",
        &"x".repeat(256),
    ] {
        assert!(named(name).refused("").starts_with("filename"), "{name}");
    }
}

#[test]
fn missing_fields_and_fields_of_other_types_or_unclear_urls_are_rejected() {
    for field in [
        "os",
        "arch",
        "filename",
        "download_url",
        "shasum",
        "shasums_url",
        "shasums_signature_url",
    ] {
        let with = |value: &str| {
            let member = format!("\"{field}\": ");
            let renamed = format!("{value}\"x{field}\": ");
            Origin::describing(|text| text.replace(&member, &renamed))
        };
        with("").refused(field);
        with(&format!("\"{field}\": 1, ")).refused(NOT_PARSED);
        for url in [
            "",
            "a b",
            r"https:\\\\evil.example",
            r"a\nb",
            "https://é.example/",
        ] {
            if field.ends_with("url") {
                let error = with(&format!("\"{field}\": \"{url}\", ")).refused(URL_RULE);
                assert!(error.starts_with(field), "{error}");
            }
        }
    }
    Origin::describing(|text| text.replace("[\"6.0\", \"5\"]", "\"6.0\"")).refused(NOT_PARSED);
    let deep = format!("{{\"packages\": {}", "[".repeat(5_000));
    Origin::describing(|_| deep.clone()).refused(NOT_PARSED);
}

#[test]
fn protocols_include_one_that_clients_run_or_are_omitted_2_2_3() {
    let with =
        |protocols: &str| Origin::describing(|text| text.replace("[\"6.0\", \"5\"]", protocols));
    for none in ["null", "[]"] {
        assert!(with(none).accepted().protocols.is_empty());
    }
    with(r#"["4.0", "5.0"]"#).accepted();
    with(r#"["4.0", "7.0"]"#).refused("none of the protocols 4.0, 7.0");
    with(r#"["x\u001b"]"#).refused("a protocol is");
    let many = format!("[{}]", [r#""5.0""#; 9].join(","));
    with(&many).refused("lists 9 protocols");
}

#[test]
fn the_shasum_is_a_digest_and_matches_sha256sums_2_2_5_2_3_1() {
    let with = |shasum: &str| Origin::describing(|text| text.replace(SHASUM, shasum));
    let upper = with(&SHASUM.to_ascii_uppercase()).accepted();
    assert_eq!(upper.sha256.to_string(), SHASUM);
    for bad in ["", "2c26", "z", "\\u001b"] {
        assert!(with(bad).refused("").starts_with("shasum"), "{bad}");
    }
    let other = Sha256::of(b"other").to_string();
    let told = with(&other).refused(&format!("lists the sha256 {SHASUM}"));
    assert!(told.contains(&other), "{told}");
}

#[test]
fn a_sha256sums_that_clients_cannot_use_is_rejected_2_3_1_2_3_2() {
    let with = |shasums: &[u8], reason: &str| {
        let shasums = shasums.to_vec();
        Origin {
            shasums,
            ..Origin::good()
        }
        .refused(reason)
    };
    let listed = |name: &str| format!("{SHASUM}  {name}\n");
    with(listed("other.zip").as_bytes(), "SHA256SUMS does not list");
    for text in [
        format!("{SHASUMS}\n"),
        format!("\n{SHASUMS}"),
        SHASUMS.replace('\n', "\n\n"),
        listed(&format!("*{FILENAME}")),
        listed(&format!("./{FILENAME}")),
        "# a comment\n".to_owned() + SHASUMS,
        String::new(),
    ] {
        let errors = Shasums::parse(&text).unwrap_err();
        with(text.as_bytes(), &errors[0].to_string());
    }
    with(&[0xff, 0xfe], NOT_PARSED);
    let long = "x".repeat(limits::SHASUMS_BYTES + 1);
    with(long.as_bytes(), "SHA256SUMS is longer than");
}

#[test]
fn the_signature_must_be_of_exactly_these_bytes_by_a_listed_key_2_3_7() {
    let origin = Origin {
        // Clients parse it in the same way, but the signed text is another one.
        shasums: SHASUMS.replace("  ", " ").into_bytes(),
        ..Origin::good()
    };
    origin.refused("does not match the file");
    let unlisted = Origin::signed_by(&[text!("ed25519.asc")], binary!("rsa2048.sig"));
    let error = unlisted.refused(OTHER_ISSUER);
    for text in [text!("ed25519.asc"), text!("rsa2048.asc")] {
        let key = &openpgp::parse_signing_keys(text).unwrap()[0];
        assert!(error.contains(&key.key_id().to_string()), "{error}");
    }
}

#[test]
fn anything_but_a_binary_detached_signature_is_rejected_2_3_3() {
    let armored = "-----BEGIN PGP SIGNATURE-----\n\niQ==\n-----END PGP SIGNATURE-----\n";
    let with = |signature: &[u8]| Origin::signed_by(&[text!("rsa2048.asc")], signature);
    for signature in [
        b"".as_slice(),
        b"<html>",
        armored.as_bytes(),
        binary!("inline.gpg"),
        text!("clear.asc").as_bytes(),
        text!("rsa2048.asc").as_bytes(),
        &[0x88; 20_000],
    ] {
        with(signature).refused(ABOUT_SIGNATURE);
    }
    let max = usize::try_from(ORIGIN_SIGNATURE_BYTES).unwrap();
    with(&vec![0x88; max + 1]).refused("signature of SHA256SUMS is longer than");
}

#[test]
fn the_keys_are_tried_in_order_and_the_first_block_of_each_text_is_used_2_3_5() {
    let (rsa, other) = (text!("rsa2048.asc"), text!("ed25519.asc"));
    let with = |keys: &[&str]| Origin::signed_by(keys, binary!("rsa2048.sig"));
    let two_blocks = format!("{rsa}{other}");
    for keys in [
        &[other, rsa][..],
        &[rsa, "no armour"],
        // Clients can parse these keys, and find that they did not make the signature.
        &[text!("revoked.asc"), rsa],
        &[text!("certify-only.asc"), rsa],
        &[text!("nistp521.asc"), rsa],
        &[&two_blocks],
    ] {
        with(keys).accepted();
    }
    with(&["no armour", rsa]).refused("signing key number 1: ");
    with(&[&format!("{other}{rsa}")]).refused(OTHER_ISSUER);
    let many = vec![rsa; limits::KEYS + 1];
    with(&many).refused("signing keys, at most");
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
        Origin::signed_by(&[key], signature).accepted();
        years_later(key, signature).refused(ABOUT_SIGNATURE);
    }
    let expired_key = years_later(text!("expiring.asc"), binary!("expiring-key.sig"));
    assert_eq!(expired_key.accepted().warnings.len(), 1);
}

#[test]
fn only_registry_opentofu_org_may_list_no_keys_2_3_6() {
    let none = || Origin::signed_by(&[], b"");
    none().refused("the origin lists no signing keys");
    let without = Origin::describing(|text| text.replace("\"signing_keys\"", "\"x\""));
    without.refused("the origin lists no signing keys");
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
    let error = package.check_pin(&pinned).unwrap_err().to_string();
    assert!(error.starts_with("the version is not signed"), "{error}");
    // If the origin lists a key, the signature is checked as for any other registry.
    let signed = Origin {
        hostname: MAY_BE_UNSIGNED,
        ..Origin::signed_by(&[text!("ed25519.asc")], binary!("rsa2048.sig"))
    };
    signed.refused(OTHER_ISSUER);
}

#[test]
fn a_package_is_checked_against_the_pinned_keys() {
    let package = Origin::good().accepted();
    let mut own = [package.signed.clone().unwrap().key];
    assert_eq!(package.check_pin(&[]), Ok(()));
    assert_eq!(package.check_pin(&own), Ok(()));
    let ed25519 = Origin::signed_by(&[text!("ed25519.asc")], binary!("ed25519.sig")).accepted();
    let error = ed25519.check_pin(&own).unwrap_err().to_string();
    let other = ed25519.signed.unwrap().key;
    for key in [&own[0], &other] {
        assert!(error.contains(&key.fingerprint), "{error}");
    }
    own[0].fingerprint.make_ascii_uppercase();
    assert_eq!(package.check_pin(&[other, own[0].clone()]), Ok(()));
}

#[test]
fn every_status_but_200_is_refused() {
    for status in [301, 401, 404, 410, 429, 500] {
        let fetched = Fetched {
            status,
            ..answer("{}")
        };
        let refused = Origin::good().inquiry().feed(&fetched).unwrap_err();
        let what = PackageInquiry::DESCRIPTION;
        assert_eq!(refused, OriginError::Status { what, status });
    }
}
