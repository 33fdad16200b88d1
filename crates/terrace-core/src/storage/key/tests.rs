use super::*;
use crate::limits;

#[test]
fn the_key_of_a_card_is_parsed() {
    let mirrored = Package::Mirrored("registry.example.com/acme/widget".parse().unwrap());
    let module = Package::Module("Acme/vpc/aws".parse().unwrap());
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
