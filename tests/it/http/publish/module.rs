use std::io::{Cursor, Write as _};

use serde_json::json;
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

use crate::support::fixtures::{tar_gz_of, zip_of};
use crate::support::{ModuleFixture, Registry};

const MAIN: &[u8] = b"output \"x\" {\n  value = 1\n}\n";

#[track_caller]
fn refused(fixture: &ModuleFixture) -> String {
    let registry = Registry::start();
    let answer = fixture.put(&registry);
    let answer = if answer.status == 202 {
        fixture.upload(&registry);
        fixture.put(&registry)
    } else {
        answer
    };
    let errors = answer.expect(422).errors();
    registry.get(&fixture.versions()).expect(404);
    errors
}

/// `terrace-archive` has the other reasons: here is one of each kind, for both formats.
#[test]
fn a_module_that_clients_cannot_install_is_refused_4_9() {
    let name = format!("{}.tf", "n".repeat(253));
    let module = || ModuleFixture::new("1.0.0");
    let mut elsewhere = module();
    elsewhere.subdir = Some("nowhere".to_owned());
    let whole = zip_of(&[("main.tf", MAIN), ("cut.tf", MAIN)]);
    let mut damaged = whole.clone();
    // The CRC32 of the last entry, in its local header and in the directory.
    for (header, field) in [(b"PK\x03\x04", 14), (b"PK\x01\x02", 16)] {
        let at = damaged.windows(4).rposition(|four| four == header);
        damaged[at.unwrap() + field] ^= 1;
    }
    let zeros = vec![0u8; 65 * 1024 * 1024];
    for (fixture, reason) in [
        (ModuleFixture::new("1.0.0+linux"), "build metadata"),
        (elsewhere, "nowhere"),
        (
            module().with_zip(zip_of(&[("README.md", b"unconfigured")])),
            ".tf",
        ),
        (
            module().with_tar_gz(tar_gz_of(&[("main.tf", MAIN), (&name, MAIN)])),
            "256 bytes",
        ),
        (
            module().with_zip(zip_of(&[("main.tf", MAIN), (&name, MAIN)])),
            "256 bytes",
        ),
        (
            module().with_zip(zip_of(&[("main.tf", MAIN), ("../../evil.tf", MAIN)])),
            "evil.tf",
        ),
        (module().with_zip(whole[..whole.len() - 30].to_vec()), ""),
        (module().with_zip(damaged), "cut.tf"),
        (module().with_zip(tar_gz_of(&[("main.tf", MAIN)])), ""),
        (module().with_tar_gz(zip_of(&[("main.tf", MAIN)])), ""),
        (
            module().with_tar_gz(tar_gz_of(&[("main.tf", MAIN), ("bomb", &zeros)])),
            "",
        ),
    ] {
        let errors = refused(&fixture);
        assert!(errors.contains(reason), "{reason}: {errors}");
    }
}

#[test]
fn a_module_is_published_with_the_same_two_requests() {
    let (registry, fixture) = (Registry::start(), ModuleFixture::new("1.0.0"));
    fixture.put(&registry).expect(202);
    fixture.upload(&registry);
    let answer = fixture.put(&registry).expect(201).json();
    assert_eq!(
        answer,
        json!({ "status": "created", "address": fixture.address, "version": "1.0.0" })
    );
    assert_eq!(fixture.put(&registry).found()["status"], "unchanged");
}

#[test]
fn another_archive_for_a_published_version_is_a_conflict() {
    let (registry, fixture) = (Registry::start(), ModuleFixture::new("1.0.0"));
    fixture.publish(&registry);
    let other = fixture.clone().with_zip(zip_of(&[("main.tf", MAIN)]));
    assert!(
        other
            .put(&registry)
            .expect(409)
            .errors()
            .contains("never changes")
    );
    let mut other = fixture.clone();
    other.subdir = Some("modules/x".to_owned());
    other.put(&registry).expect(409);
}

#[test]
fn a_zip_too_large_to_be_unpacked_is_published_with_a_warning() {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    zip.start_file("large.tf", stored).unwrap();
    zip.write_all(&[b'x'; 2 * 1024 * 1024]).unwrap();
    let mut zip = zip.finish().unwrap().into_inner();
    // The entry claims to be deflated and is not, which shows that it is never inflated.
    let listed = zip.windows(4).rposition(|four| four == b"PK\x01\x02");
    let listed = listed.unwrap();
    zip[listed + 10] = 8;
    zip[listed + 24..listed + 28].copy_from_slice(&(257u32 << 20).to_le_bytes());

    let (registry, fixture) = (Registry::start(), ModuleFixture::new("1.0.0"));
    let fixture = fixture.with_zip(zip);
    fixture.put(&registry).expect(202);
    fixture.upload(&registry);
    let answer = fixture.put(&registry).expect(201).json();
    let warning = answer["warnings"][0].as_str().unwrap();
    assert!(
        warning.contains("does not check their contents"),
        "{warning}"
    );
}

#[test]
fn every_invalid_field_is_reported() {
    let registry = Registry::start();
    let body =
        json!({ "archive": { "format": "rar", "sha256": "abc", "size": 0 }, "subdir": "../up" });
    let path = "/admin/v1/modules/acme/vpc/aws/1.0.0";
    let errors = registry.put(path, &body).expect(422).errors();
    for reason in ["rar", "abc", "0 bytes", "../up"] {
        assert!(errors.contains(reason), "{reason}: {errors}");
    }
}
