use super::*;
use crate::limits;
use terrace_archive::ArchiveFormat;

/// The stored keys: changing one of these texts needs a migration of every bucket.
#[test]
fn the_layout_is_pinned() {
    let provider = Package::Provider("acme/widget".parse().unwrap());
    let mirrored = Package::Mirrored("registry.example.com/acme/widget".parse().unwrap());
    let module = Package::Module("acme/vpc/aws".parse().unwrap());
    let version: Version = "1.2.3+b.1".parse().unwrap();
    let archive = ArchiveKey::of(b"", ArchiveKind::Archive(ArchiveFormat::TarGz));
    for (key, text) in [
        (
            FactKey::Release(provider.clone(), version.clone()).to_string(),
            "releases/providers/hosted/acme/widget/1.2.3+b.1",
        ),
        (
            FactKey::Release(module.clone(), version.clone()).to_string(),
            "releases/modules/acme/vpc/aws/1.2.3+b.1",
        ),
        (
            FactKey::Release(mirrored.clone(), version.clone()).to_string(),
            "releases/providers/registry.example.com/acme/widget/1.2.3+b.1",
        ),
        (
            FactKey::Change(mirrored.clone()).to_string(),
            "changes/providers/registry.example.com/acme/widget",
        ),
        (
            IndexKey::MirrorVersions(mirrored.clone()).to_string(),
            "providers/registry.example.com/acme/widget/mirror",
        ),
        (
            IndexKey::MirrorVersions(provider.clone()).to_string(),
            "providers/hosted/acme/widget/mirror",
        ),
        (
            IndexKey::Version(mirrored.clone(), version.clone()).to_string(),
            "providers/registry.example.com/acme/widget/version/1.2.3+b.1",
        ),
        (
            FactKey::Change(provider.clone()).to_string(),
            "changes/providers/hosted/acme/widget",
        ),
        (
            FactKey::Written(IndexKey::Tags(provider.clone())).to_string(),
            "written/providers/hosted/acme/widget/tags",
        ),
        (
            FactKey::SigningKeys("acme".parse().unwrap()).to_string(),
            "keys/acme",
        ),
        (
            BytesKey::from(archive.staged_for(&module, &version)).to_string(),
            "incoming/fd838953ec969d007d13986574d6e46fa6df67dc0bc6d101221449ec898aecc9.\
             e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.tar.gz",
        ),
        (
            archive.to_string(),
            "archives/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.tar.gz",
        ),
        (
            IndexKey::Versions(provider.clone()).to_string(),
            "providers/hosted/acme/widget/versions",
        ),
        (
            IndexKey::Version(provider, version.clone()).to_string(),
            "providers/hosted/acme/widget/version/1.2.3+b.1",
        ),
        (
            IndexKey::Versions(module.clone()).to_string(),
            "modules/acme/vpc/aws/versions",
        ),
        (
            IndexKey::Version(module, version).to_string(),
            "modules/acme/vpc/aws/version/1.2.3+b.1",
        ),
    ] {
        assert_eq!(key, text);
    }
}

#[test]
fn the_layout_of_pushed_content_is_pinned() {
    let repository = RepositoryName::parse("team/app").unwrap();
    let tag = Tag::parse("v1.0").unwrap();
    let digest = Digest::Sha256(Sha256::of(b""));
    let id = UploadId::new(terrace_base::time::UnixTime(1_800_000_000), [7; 16]);
    let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let digits = empty.trim_start_matches("sha256:");
    for (fact, text) in [
        (
            PushedFact::Link(repository.clone(), digest),
            format!("oci/links/team/app:{empty}"),
        ),
        (
            PushedFact::Manifest(repository.clone(), digest),
            format!("oci/manifests/team/app:{empty}"),
        ),
        (
            PushedFact::Tag(repository.clone(), tag.clone()),
            "oci/tags/team/app:v1.0".to_owned(),
        ),
        (
            PushedFact::Referrer(repository.clone(), digest, digest),
            format!("oci/referrers/team/app:{empty}:{empty}"),
        ),
        (
            PushedFact::Change(repository.clone()),
            "oci/changes/team/app".to_owned(),
        ),
        (PushedFact::Upload(id), format!("oci/uploads/{id}")),
    ] {
        assert_eq!(FactKey::Pushed(fact).to_string(), text);
    }
    for (index, text) in [
        (
            PushedIndex::Tags(repository.clone()),
            "oci/team/app:tags".to_owned(),
        ),
        (
            PushedIndex::Tag(repository.clone(), tag),
            "oci/team/app:tag:v1.0".to_owned(),
        ),
        (
            PushedIndex::Manifest(repository.clone(), digest),
            format!("oci/team/app:manifest:{empty}"),
        ),
        (
            PushedIndex::Blob(repository, digest),
            format!("oci/team/app:blob:{empty}"),
        ),
    ] {
        assert_eq!(IndexKey::Pushed(index).to_string(), text);
    }
    let blob = BytesKey::Blob(digest);
    assert_eq!(blob.to_string(), format!("oci/blobs/sha256/{digits}"));
    let chunk = ChunkKey {
        upload: id,
        offset: 5,
        writer: 255,
    };
    let key = format!("oci/uploads/{id}/5-00000000000000ff");
    assert_eq!(chunk.to_string(), key);
}

#[test]
fn the_layout_of_the_catalogue_is_pinned() {
    let mirrored = Package::Mirrored("registry.example.com/acme/widget".parse().unwrap());
    let module = Package::Module("Acme/vpc/aws".parse().unwrap());
    for (fact, text) in [
        (
            FactKey::Card(mirrored.clone()),
            "cards/registry.example.com/acme/providers/registry.example.com/acme/widget",
        ),
        (
            FactKey::Card(module.clone()),
            "cards/acme/modules/Acme/vpc/aws",
        ),
        (
            FactKey::OwnerChange(Owner::of(&mirrored)),
            "changes/catalog/registry.example.com/acme",
        ),
        (FactKey::CatalogChange, "changes/merged-catalog"),
        (
            FactKey::Written(IndexKey::MergedCatalog(1)),
            "written/merged-catalog/1",
        ),
        (FactKey::Lease(Lease::Catalog), "leases/catalog"),
    ] {
        assert_eq!(fact.to_string(), text);
    }
    for package in [mirrored, module] {
        let key = FactKey::Card(package.clone()).to_string();
        let name = key.strip_prefix(CARDS).unwrap();
        assert_eq!(FactKey::card_in(name), Some(package));
    }
    for name in [
        "",
        "acme",
        "acme/modules/other/vpc/aws",
        "acme/modules/acme/vpc",
        "Acme/modules/Acme/vpc/aws",
        "a/b/modules/acme/vpc/aws",
    ] {
        assert_eq!(FactKey::card_in(name), None, "{name}");
    }
}

#[test]
fn the_longest_key_of_pushed_content_fits_kv_and_r2() {
    let name = "a".repeat(limits::REPOSITORY_BYTES);
    let repository = RepositoryName::parse(&name).unwrap();
    let digest = Digest::Sha512(terrace_base::digest::Sha512::of(b""));
    let index = IndexKey::Pushed(PushedIndex::Manifest(repository.clone(), digest));
    assert!(index.to_string().len() <= 512);
    let fact = FactKey::Pushed(PushedFact::Referrer(repository, digest, digest));
    assert!(fact.to_string().len() <= 1_024);
}

#[test]
fn the_longest_key_fits_kv() {
    let part = "a".repeat(limits::NAME_BYTES);
    let version = format!("1.0.0-{}", "a".repeat(limits::VERSION_BYTES - 6));
    let module = format!("{part}/{part}/{part}").parse().unwrap();
    let key = IndexKey::Version(Package::Module(module), version.parse().unwrap());
    assert!(key.to_string().len() <= 512);
    let label = "a".repeat(limits::PROVIDER_PART_BYTES);
    let rest = "a".repeat(limits::HOSTNAME_BYTES - 3 * (limits::PROVIDER_PART_BYTES + 1));
    let hostname = format!("{label}.{label}.{label}.{rest}");
    let mirrored = format!("{hostname}/{label}/{label}").parse().unwrap();
    let key = IndexKey::Version(Package::Mirrored(mirrored), version.parse().unwrap());
    assert!(key.to_string().len() <= 512);
}
