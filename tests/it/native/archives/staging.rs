//! Staged uploads. Archives are shared by digest, and a digest is not a secret: in a private registry a
//! publisher who names an archive must upload it.

use serde_json::Value;

use crate::support::fixtures::{sha256, upload};
use crate::support::memory::Memory;
use crate::support::registry::{Response, Sent};
use crate::support::{MirrorFixture, ModuleFixture, ProviderFixture, Registry, tokens};

/// A private registry with a release of acme, and a publisher for globex.
struct Tenants {
    memory: Memory,
    registry: Registry,
    secret: ModuleFixture,
    globex: String,
}

impl Tenants {
    fn new() -> Self {
        Self::with(("TERRACE_ACCESS", "private"))
    }

    fn with(access: (&str, &str)) -> Self {
        let (memory, registry) = Registry::with_memory(&[access]);
        let secret = ModuleFixture::of("acme", "1.0.0");
        secret.publish(&registry);
        let (_, globex) = tokens::create(&registry, &["publish:globex"], None);
        Self {
            memory,
            registry,
            secret,
            globex,
        }
    }

    fn put(&self, token: &str, module: &ModuleFixture) -> Response {
        let path = module.admin_path();
        put(&self.registry, token, &path, &module.description())
    }

    /// Returns the keys of the staged uploads.
    fn staged(&self) -> Vec<String> {
        self.memory.keys_with("incoming/")
    }

    /// Uploads the archive of a module that globex publishes.
    fn upload(&self, module: &ModuleFixture) {
        let asked = self.put(&self.globex, module).expect(202);
        upload(&self.registry, &asked, &[&module.archive]);
    }
}

fn put(registry: &Registry, token: &str, path: &str, body: &Value) -> Response {
    let sent = Sent::new("PUT", path).bearing(token);
    registry.send(&sent.body(body.to_string()))
}

/// Returns a module with the same archive in another namespace.
fn copy_in(namespace: &str, module: &ModuleFixture) -> ModuleFixture {
    ModuleFixture::of(namespace, "1.0.0").with_zip(module.archive.clone())
}

#[test]
fn the_digest_of_another_owners_archive_gives_no_access_to_it() {
    // In a private registry, and in a public one where the namespace is an exception.
    for access in [
        ("TERRACE_ACCESS", "private"),
        ("TERRACE_ACCESS_EXCEPT", "acme"),
    ] {
        let tenants = Tenants::with(access);
        let stolen = copy_in("globex", &tenants.secret);
        for _ in 0..2 {
            tenants.put(&tenants.globex, &stolen).expect(202);
        }
        let asked = tenants.registry.get_as(&tenants.globex, &stolen.download());
        asked.expect(404);
    }
}

#[test]
fn an_upload_for_one_version_does_not_serve_another() {
    let tenants = Tenants::new();
    let (first, second) = (
        ModuleFixture::of("globex", "1.0.0"),
        ModuleFixture::of("globex", "2.0.0"),
    );
    let second = second.with_zip(first.archive.clone());
    tenants.upload(&first);
    tenants.upload(&second);
    // Neither publish may remove the upload that the other needs.
    tenants.put(&tenants.globex, &first).expect(201);
    tenants.put(&tenants.globex, &second).expect(201);
}

#[test]
fn no_response_and_no_operation_reveals_whether_an_archive_is_stored() {
    let tenants = Tenants::new();
    let operations = |module: &ModuleFixture| {
        tenants.memory.forget_operations();
        tenants.upload(module);
        tenants.put(&tenants.globex, module).expect(201);
        let operations = tenants.memory.operations().join("\n");
        let operations = operations.replace(&sha256(&module.archive), "DIGEST");
        // The list of revoked tokens and erased digests is read at most once for many requests.
        let of_list = "R2 list revocations/\nR2 list garbage/";
        let operations = operations.replace(of_list, "R2 list revocations/");
        // The key of the staged upload differs from release to release.
        let parts: Vec<&str> = operations.split("incoming/").collect();
        let places = parts
            .iter()
            .map(|part| part.split_once(".DIGEST").map_or(*part, |it| it.1));
        places.collect::<Vec<_>>().join("incoming/")
    };
    let stored = copy_in("globex", &tenants.secret);
    let mut unknown = ModuleFixture::of("globex", "1.0.0");
    unknown.address = "globex/vpc/gcp".to_owned();
    let of_unknown = operations(&unknown).replace("vpc/gcp", "vpc/aws");
    let of_stored = operations(&stored);
    // Manifests of different archives have different digests, and audit entries have different numbers.
    let is_told = |line: &&str| {
        !["/sha256/", "revocations", "audit"]
            .iter()
            .any(|it| line.contains(it))
    };
    let told = |operations: &str| -> Vec<String> {
        let lines = operations.lines().filter(is_told);
        lines.map(str::to_owned).collect()
    };
    assert_eq!(told(&of_stored), told(&of_unknown));
}

#[test]
fn a_publisher_who_sends_an_archive_publishes_it_and_leaves_no_upload() {
    let tenants = Tenants::new();
    let module = ModuleFixture::of("globex", "1.0.0");
    tenants.upload(&module);
    assert_eq!(tenants.staged().len(), 1);
    tenants.put(&tenants.globex, &module).expect(201);
    assert_eq!(tenants.staged(), [""; 0]);
    tenants.put(&tenants.globex, &module).expect(200);
    let led = tenants.registry.get_as(&tenants.globex, &module.download());
    let location = led.header("x-terraform-get").unwrap().to_owned();
    assert_eq!(tenants.registry.get(&location).body, module.archive);
}

#[test]
fn an_upload_for_one_owner_does_not_serve_another() {
    let tenants = Tenants::new();
    let (_, acme) = tokens::create(&tenants.registry, &["publish:acme"], None);
    let mut mine = ModuleFixture::of("acme", "2.0.0");
    mine.archive = ModuleFixture::of("initech", "2.0.0").archive;
    let first = tenants.put(&acme, &mine).expect(202);
    upload(&tenants.registry, &first, &[&mine.archive]);
    let stolen = copy_in("globex", &mine);
    tenants.put(&tenants.globex, &stolen).expect(202);
    tenants.put(&acme, &mine).expect(201);
}

#[test]
fn a_publisher_who_may_read_everything_does_not_upload_a_stored_archive() {
    let tenants = Tenants::new();
    let scopes = ["publish:globex", "read"];
    let (_, reader) = tokens::create(&tenants.registry, &scopes, None);
    let copy = copy_in("globex", &tenants.secret);
    tenants.put(&reader, &copy).expect(201);
}

#[test]
fn an_archive_of_a_public_registry_is_uploaded_once() {
    let registry = Registry::start();
    let (first, second) = (ModuleFixture::new("1.0.0"), ModuleFixture::new("1.0.0"));
    first.publish(&registry);
    let second = second.with_zip(first.archive);
    let scope = second.address.split('/').next().unwrap();
    let (_, token) = tokens::create(&registry, &[&format!("publish:{scope}")], None);
    let body = second.description();
    put(&registry, &token, &second.admin_path(), &body).expect(201);
}

#[test]
fn a_staged_upload_with_other_bytes_is_requested_again() {
    let tenants = Tenants::new();
    let module = ModuleFixture::of("globex", "1.0.0");
    tenants.upload(&module);
    let staged = tenants.staged().remove(0);
    tenants.memory.put_object(&staged, b"other bytes");
    let again = tenants.put(&tenants.globex, &module).expect(202);
    assert_eq!(tenants.staged(), [""; 0]);
    upload(&tenants.registry, &again, &[&module.archive]);
    tenants.put(&tenants.globex, &module).expect(201);
}

#[test]
fn all_archives_of_a_provider_must_be_uploaded() {
    let tenants = Tenants::new();
    let mut provider = ProviderFixture::new("1.0.0");
    provider.namespace = "globex".to_owned();
    provider.add_key(&tenants.registry);
    let path = provider.admin_path();
    let body = provider.description();
    let send = || put(&tenants.registry, &tenants.globex, &path, &body);
    let first = send().expect(202);
    let missing = |answer: &Response| answer.json()["missing"].as_array().unwrap().len();
    assert_eq!(missing(&first), provider.packages.len());
    let mut one = first.json();
    one["missing"].as_array_mut().unwrap().truncate(1);
    let only_one = Response {
        body: one.to_string().into_bytes(),
        ..first
    };
    let zips: Vec<&[u8]> = provider.packages.iter().map(|it| it.3.as_slice()).collect();
    upload(&tenants.registry, &only_one, &zips);
    tenants.memory.forget_operations();
    let rest = send().expect(202);
    assert_eq!(missing(&rest), provider.packages.len() - 1);
    let is_copy = |operation: &String| operation.starts_with("R2 open");
    assert!(!tenants.memory.operations().iter().any(is_copy));
    upload(&tenants.registry, &rest, &zips);
    send().expect(201);
}

#[test]
fn a_mirrored_archive_must_be_uploaded_too() {
    let tenants = Tenants::new();
    let mut secret = ProviderFixture::of("acme", "widget", "1.0.0");
    secret.publish(&tenants.registry);
    secret.namespace = "globex".to_owned();
    let stolen = MirrorFixture::of(secret).unsigned();
    let scope = "publish:registry.example.com/globex";
    let (_, token) = tokens::create(&tenants.registry, &[scope], None);
    let body = stolen.description();
    for _ in 0..2 {
        put(&tenants.registry, &token, &stolen.admin_path(), &body).expect(202);
    }
    let asked = tenants.registry.get_as(&token, &stolen.packages());
    asked.expect(404);
}

#[test]
fn an_unpublished_upload_is_removed_a_day_later() {
    let tenants = Tenants::new();
    let module = ModuleFixture::of("globex", "1.0.0");
    tenants.upload(&module);
    let staged = tenants.staged();
    assert_eq!(staged.len(), 1);
    tenants.memory.advance(86_400);
    // The walk over the facts, and the walk over the keys.
    tenants.registry.run_repair_step();
    tenants.registry.run_repair_step();
    assert_eq!(tenants.staged(), staged);
    tenants.memory.advance(1);
    // The rest of both walks, and both again.
    for _ in 0..4 {
        tenants.registry.run_repair_step();
    }
    assert_eq!(tenants.staged(), [""; 0]);
    tenants.memory.assert_logged("1 removed (incoming/");
    // Publishing is still possible after another upload.
    tenants.upload(&module);
    tenants.put(&tenants.globex, &module).expect(201);
}
