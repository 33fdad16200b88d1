//! `terrace docs preview`.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::auth::access::Caller;
use terrace_core::config::Config;
use terrace_core::documentation::{DocumentPath, DocumentText};
use terrace_core::http::reply::Body;
use terrace_core::index::about::{About, AboutDocumentation};
use terrace_core::index::overview::{Overview, OverviewVersion};
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::read::{PageRead, PageSubject, PageView, StoredIndex, StoredIndices};
use terrace_core::storage::index_document::IndexMetadata;
use terrace_metadata::OpenArchive;
use terrace_web::assets::Assets;
use terrace_web::views::DocumentPage;
use terrace_web::{SignIn, Site};

use crate::support::registry::Registry;
use crate::support::{directory, ended, run, terrace};

/// A running preview, which ends with the test.
struct Preview {
    child: Child,
    host: String,
}

impl Preview {
    fn start(path: &Path) -> Self {
        Self::start_with(path, &[])
    }

    fn start_with(path: &Path, arguments: &[&str]) -> Self {
        let mut command = terrace(&["docs", "preview", path.to_str().unwrap()]);
        command
            .args(["--port", "0", "--json"])
            .args(arguments)
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let document: Value = serde_json::from_str(&line).unwrap();
        let url = document["url"].as_str().unwrap();
        let host = url.trim_start_matches("http://").trim_end_matches('/');
        Self {
            host: host.to_owned(),
            child,
        }
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n",
            self.host
        ))
    }

    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }
}

impl Drop for Preview {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const FRONT: &str = "---\npage_title: Wheel\n---\n";

#[test]
fn pages_are_those_of_a_registry_and_change_with_the_files() {
    let docs = directory(&[
        ("docs/index.md", &format!("{FRONT}# <Hello>\n")),
        (
            "docs/resources/wheel.md",
            &format!("{FRONT}# Wheel\n\n[Home](../index.md)\n"),
        ),
    ]);
    let preview = Preview::start_with(docs.path(), &["--address", "acme/car"]);
    assert!(preview.host.starts_with("127.0.0.1:"), "{}", preview.host);
    let root = "/providers/acme/car/0.0.0";
    for path in ["/", "/providers/acme/car", "/providers/acme/car/latest"] {
        let moved = preview.get(path);
        assert!(moved.starts_with("HTTP/1.1 303 "), "{moved}");
        assert!(moved.contains(&format!("\nlocation: {root}\r")), "{moved}");
    }
    let page = preview.get(root);
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    let link = format!("<a href=\"{root}/docs/resources/wheel\"");
    assert!(page.contains(&link), "{page}");
    let wheel = preview.get(&format!("{root}/docs/resources/wheel"));
    assert!(
        wheel.contains(&format!("<a href=\"{root}/docs\"")),
        "{wheel}"
    );
    let text = preview.get(&format!("{root}/docs/resources/wheel.md"));
    assert!(text.contains("content-type: text/markdown"), "{text}");
    assert!(
        text.ends_with("\r\n\r\n# Wheel\n\n[Home](../overview)\n"),
        "{text}"
    );
    for path in ["/docs/resources/none", "/docs/resources/none.md"] {
        let missing = preview.get(&format!("{root}{path}"));
        assert!(missing.starts_with("HTTP/1.1 404 "), "{missing}");
    }
    let revision = preview.get("/_preview/revision");
    assert_eq!(preview.get("/_preview/revision"), revision);
    fs::write(
        docs.path().join("docs/index.md"),
        format!("{FRONT}# Second\n"),
    )
    .unwrap();
    assert_ne!(preview.get("/_preview/revision"), revision);
    let second = preview.get(&format!("{root}/docs"));
    assert!(second.contains(">Second"), "{second}");
    fs::remove_dir_all(docs.path()).unwrap();
    let page = preview.get(&format!("{root}/docs"));
    assert!(
        page.contains("No such file") && page.contains(">Second"),
        "{page}"
    );
}

#[test]
fn warnings_are_shown_above_a_page() {
    let docs = directory(&[("docs/index.md", "# A\n"), ("docs/resources/b.md", "")]);
    let preview = Preview::start(docs.path());
    let page = preview.get("/providers/example/provider/0.0.0");
    let (before, _) = page.split_once("<main>").unwrap();
    assert!(before.contains("docs/index.md"), "{page}");
}

#[test]
fn the_parts_and_files_of_a_module_are_shown() {
    let module = directory(&[
        ("main.tf", "variable \"size\" {\n  type = number\n}\n"),
        ("README.md", "# Network\n"),
        ("examples/small/main.tf", "# An example\n"),
        ("examples/small/other.tf", "# Another file\n"),
    ]);
    let preview = Preview::start_with(module.path(), &["--address", "acme/network/aws"]);
    let root = "/modules/acme/network/aws/0.0.0";
    let page = preview.get(root);
    assert!(page.contains(">Network") && page.contains("size"), "{page}");
    let source = "registry.example.com/acme/network/aws";
    assert!(page.contains(source), "{page}");
    let page = preview.get(&format!("{root}/examples/small"));
    assert!(page.contains("# An example"), "{page}");
    let file = "/api/v1/modules/acme/network/aws/0.0.0/docs/examples/small/other.tf";
    assert!(page.contains(&format!("<a href=\"{file}\"")), "{page}");
    let file = preview.get(file);
    assert!(file.ends_with("\r\n\r\n# Another file\n"), "{file}");
}

#[test]
fn an_address_of_another_kind_of_package_is_rejected() {
    let module = directory(&[("main.tf", "")]);
    let provider = directory(&[("docs/index.md", "# A\n")]);
    for (directory, address, reason) in [
        (&provider, "acme/network/aws", "no configuration files"),
        (&provider, "acme", "it must be <namespace>/<type>"),
        (&module, "acme/Network/AWS", "it must be <namespace>/<type>"),
    ] {
        let path = directory.path().to_str().unwrap();
        let line = ["docs", "preview", path, "--port", "0", "--address", address];
        let ended = ended(&mut terrace(&line)).expect(2);
        assert!(ended.stderr.contains(reason), "{ended:?}");
    }
}

/// Returns the content of a page, without the date of a publish.
fn main_of(page: &str) -> String {
    let (_, main) = page.split_once("<main").unwrap();
    let (main, _) = main.split_once("</main>").unwrap();
    match main.split_once("<span>Published ") {
        Some((before, rest)) => format!("{before}{}", rest.split_once("</span>").unwrap().1),
        None => main.to_owned(),
    }
}

/// Returns the page of a document in a registry to which the documentation was sent.
fn page_of_registry(registry: &Registry, package: &Package, document: &DocumentPath) -> String {
    let bytes = registry.last_documentation();
    let archive = OpenArchive::parse(&bytes, package).unwrap();
    let version: Version = "0.0.0".parse().unwrap();
    let about = About {
        archive: None,
        published_at: UnixTime(1_800_000_000),
        source: None,
        provenance: None,
        documentation: Some(AboutDocumentation {
            archive: Sha256::of(&bytes),
            head_length: 1,
            changed_at: UnixTime(1_800_000_000),
            changes: 0,
            license: None,
            origin: None,
            head: archive.head().clone(),
        }),
    };
    let overview = Overview {
        status: None,
        versions: vec![OverviewVersion {
            version: version.clone(),
            published_at: Some(about.published_at),
            status: None,
            source: None,
            is_documented: true,
        }],
    };
    let stored = |text: String| StoredIndex::<()> {
        metadata: IndexMetadata {
            etag: String::new(),
            revoked: None,
            is_blocked: false,
            content: None,
            pull: None,
        },
        body: Body::Text(text),
    };
    let indices = StoredIndices {
        first: stored(serde_json::to_string(&about).unwrap()),
        others: vec![Some(stored(serde_json::to_string(&overview).unwrap()))],
    };
    let config = Config::from_vars(&[]).unwrap();
    let subject = PageSubject::Document(package.clone(), version);
    let read = PageRead::new(subject, &Caller::Anonymous, &config.access, &config.pull).unwrap();
    let PageView::Version(view) = read.view(&indices).unwrap() else {
        panic!("the view of a version");
    };
    let page = DocumentPage::find(package, &view, document).unwrap();
    let text = page.source().map(|source| {
        let Some(DocumentText::At(member)) = archive.head().document(&source) else {
            panic!("a text in the archive");
        };
        String::from_utf8(archive.page(member).unwrap()).unwrap()
    });
    page.render(&site(), text.as_deref())
}

fn site() -> Site {
    Site {
        origin: "https://registry.example.com".to_owned(),
        hostname: "registry.example.com".to_owned(),
        issuers: Vec::new(),
        name: "Acme".to_owned(),
        logo: None,
        assets: Assets::new(None).names().clone(),
        sign_in: SignIn::Unavailable,
        here: String::new(),
        is_private: false,
        has_login: false,
        client_hosts: Vec::new(),
        problems: Vec::new(),
    }
}

#[test]
fn a_page_has_the_same_content_as_in_a_registry_that_the_documentation_was_sent_to() {
    let provider = directory(&[
        ("docs/index.md", &format!("{FRONT}# Car\n")),
        (
            "docs/resources/wheel.md",
            &format!("{FRONT}# Wheel\n\n-> **Note** <b>x</b>\n\n```hcl\na = 1\n```\n\n## Two\n"),
        ),
    ]);
    let module = directory(&[
        ("main.tf", "variable \"size\" {}\n"),
        ("examples/small/README.md", "# Small\n\n[root](../../)\n"),
        ("examples/small/main.tf", "# An example\n"),
        ("modules/inner/main.tf", "output \"a\" { value = 1 }\n"),
    ]);
    for (directory, address, documents) in [
        (&provider, "acme/car", &["docs", "docs/resources/wheel"]),
        (
            &module,
            "acme/network/aws",
            &["examples/small", "submodules/inner"],
        ),
    ] {
        let registry = Registry::start();
        let path = directory.path().to_str().unwrap();
        run(&registry, &["docs", "add", address, "0.0.0", path]).expect(0);
        let preview = Preview::start_with(directory.path(), &["--address", address]);
        for document in documents {
            let package = Package::parse_address(address).unwrap();
            let kind = match package {
                Package::Module(_) => "modules",
                _ => "providers",
            };
            let shown = preview.get(&format!("/{kind}/{address}/0.0.0/{document}"));
            let segments: Vec<&str> = match document.strip_prefix("docs/") {
                Some(document) => document.split('/').collect(),
                None if *document == "docs" => vec!["overview"],
                None => document.split('/').collect(),
            };
            let document = DocumentPath::parse(&package, &segments).unwrap();
            let published = page_of_registry(&registry, &package, &document);
            assert!(published.contains("Published "), "{published}");
            assert_eq!(main_of(&shown), main_of(&published));
        }
    }
}

#[test]
fn only_this_machine_is_answered_and_nothing_else_is_loaded() {
    let docs = directory(&[("docs/index.md", "# A\n")]);
    let preview = Preview::start(docs.path());
    let page = preview.get("/providers/example/provider/0.0.0");
    assert!(
        page.contains("content-security-policy: default-src 'none'; script-src 'self'; "),
        "{page}"
    );
    assert!(
        page.contains("cross-origin-resource-policy: same-origin"),
        "{page}"
    );
    assert!(
        !page.contains("<style") && !page.contains("<script>"),
        "{page}"
    );
    let style = page.split_once("rel=\"stylesheet\" href=\"").unwrap().1;
    let style = preview.get(style.split_once('"').unwrap().0);
    assert!(style.contains("content-type: text/css"), "{style}");
    assert!(page.contains("<script src=\"/_preview/reload.js\" data-revision=\""));
    let script = preview.get("/_preview/reload.js");
    assert!(script.contains("content-type: text/javascript"), "{script}");
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421"),
        ("GET / HTTP/1.1\r\n\r\n", "421"),
        ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
        ("nonsense\r\n\r\n", "400"),
    ] {
        let response = preview.ask(request);
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status} ")),
            "{response}"
        );
        assert!(!response.contains("# A"), "{response}");
    }
    let long = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(20_000));
    assert!(preview.ask(&long).starts_with("HTTP/1.1 431 "));
}

#[test]
fn a_used_port_is_an_error_with_advice() {
    let docs = directory(&[("docs/index.md", "# A\n")]);
    let preview = Preview::start(docs.path());
    let port = preview.host.rsplit(':').next().unwrap();
    let path = docs.path().to_str().unwrap();
    let ended = ended(&mut terrace(&["docs", "preview", path, "--port", port])).expect(1);
    assert!(ended.stderr.contains("--port"), "{ended:?}");
}
