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
    registry
        .get(&format!("{}/versions", fixture.path()))
        .expect(404);
    errors
}

#[test]
fn a_version_with_build_metadata_is_refused_since_clients_cannot_choose_it() {
    let reasons = refused(&ModuleFixture::new("1.0.0+linux"));
    assert!(reasons.contains("build metadata"), "{reasons}");
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
    assert_eq!(
        fixture.put(&registry).expect(200).json()["status"],
        "unchanged"
    );
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
fn an_archive_without_configuration_is_refused() {
    for archive in [
        ModuleFixture::new("1.0.0").with_zip(zip_of(&[("README.md", b"unconfigured zip")])),
        ModuleFixture::new("1.0.0").with_tar_gz(tar_gz_of(&[("README.md", b"unconfigured tar")])),
    ] {
        assert!(refused(&archive).contains(".tf"));
    }
}

#[test]
fn an_archive_of_tofu_files_is_a_module() {
    let registry = Registry::start();
    ModuleFixture::new("1.0.0")
        .with_zip(zip_of(&[("main.tofu", MAIN)]))
        .publish(&registry);
}

#[test]
fn a_path_that_escapes_is_refused() {
    for archive in [
        ModuleFixture::new("1.0.0").with_zip(zip_of(&[("main.tf", MAIN), ("../../evil.tf", MAIN)])),
        ModuleFixture::new("1.0.0").with_zip(zip_of(&[("main.tf", MAIN), ("/etc/evil.tf", MAIN)])),
    ] {
        assert!(refused(&archive).contains("evil.tf"));
    }
}

#[test]
fn a_subdirectory_that_is_not_in_the_archive_is_refused() {
    let mut fixture = ModuleFixture::new("1.0.0");
    fixture.subdir = Some("nowhere".to_owned());
    assert!(refused(&fixture).contains("nowhere"));
}

#[test]
fn a_truncated_archive_is_refused() {
    let whole = tar_gz_of(&[("main.tf", MAIN), ("b.tf", &MAIN.repeat(200))]);
    let cut = whole[..whole.len() / 2].to_vec();
    refused(&ModuleFixture::new("1.0.0").with_tar_gz(cut));
    let whole = zip_of(&[("main.tf", MAIN), ("cut.tf", MAIN)]);
    let cut = whole[..whole.len() - 30].to_vec();
    refused(&ModuleFixture::new("1.0.0").with_zip(cut));
}

#[test]
fn a_zip_with_a_wrong_checksum_is_refused_and_its_entry_named_4_9() {
    let mut zip = zip_of(&[("main.tf", MAIN), ("broken.tf", &MAIN.repeat(20))]);
    let local = |zip: &[u8]| zip.windows(4).rposition(|four| four == b"PK\x03\x04");
    let listed = |zip: &[u8]| zip.windows(4).rposition(|four| four == b"PK\x01\x02");
    for checksum in [local(&zip).unwrap() + 14, listed(&zip).unwrap() + 16] {
        zip[checksum] ^= 1;
    }
    let errors = refused(&ModuleFixture::new("1.0.0").with_zip(zip));
    assert!(errors.contains("broken.tf"), "{errors}");
    assert!(errors.contains("CRC32"), "{errors}");
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
fn a_file_name_that_is_too_long_is_refused_4_9() {
    let name = format!("{}.tf", "n".repeat(253));
    let zip = zip_of(&[("main.tf", MAIN), (&name, MAIN)]);
    assert!(refused(&ModuleFixture::new("1.0.0").with_zip(zip)).contains("256 bytes"));
    let tar_gz = tar_gz_of(&[("main.tf", MAIN), (&name, MAIN)]);
    assert!(refused(&ModuleFixture::new("1.0.0").with_tar_gz(tar_gz)).contains("256 bytes"));
}

#[test]
fn an_archive_of_the_other_format_is_refused() {
    refused(&ModuleFixture::new("1.0.0").with_zip(tar_gz_of(&[("main.tf", MAIN)])));
    refused(&ModuleFixture::new("1.0.0").with_tar_gz(zip_of(&[("main.tf", MAIN)])));
}

#[test]
fn a_zip_bomb_is_refused_by_its_ratio() {
    let zeros = vec![0u8; 65 * 1024 * 1024];
    let bomb = zip_of(&[("main.tf", MAIN), ("bomb", &zeros)]);
    assert!(bomb.len() < 128 * 1024);
    refused(&ModuleFixture::new("1.0.0").with_zip(bomb));
    let bomb = tar_gz_of(&[("main.tf", MAIN), ("bomb", &zeros)]);
    refused(&ModuleFixture::new("1.0.0").with_tar_gz(bomb));
}

#[test]
fn every_invalid_field_is_reported() {
    let registry = Registry::start();
    let body =
        json!({ "archive": { "format": "rar", "sha256": "abc", "size": 0 }, "subdir": "../up" });
    let path = "/admin/v1/modules/acme/vpc/aws/1.0.0";
    let errors = registry
        .admin("PUT", path, Some(body.to_string().as_bytes()))
        .expect(422)
        .errors();
    for reason in ["rar", "abc", "0 bytes", "../up"] {
        assert!(errors.contains(reason), "{reason}: {errors}");
    }
}
