//! `terrace docs preview`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::plain_http::{ask, get};
use crate::support::registry::Registry;
use crate::support::{Dist, assert_has, assert_lacks, directory, run, terrace};

/// A running preview, which ends with the test.
struct Preview {
    child: Child,
    host: String,
}

impl Preview {
    fn start(path: &Path, arguments: &[&str]) -> Self {
        let mut command = terrace(&["docs", "preview", path.to_str().unwrap()]);
        command.args(["--port", "0", "--json"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
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
        get(&self.host, &self.host, path)
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
    let index = format!("{FRONT}# <Hello>\n");
    let wheel = format!("{FRONT}# Wheel\n\n[Home](../index.md)\n");
    let docs = directory(&[
        ("docs/index.md", &index),
        ("docs/resources/wheel.md", &wheel),
    ]);
    let preview = Preview::start(docs.path(), &["--address", "acme/car"]);
    assert!(preview.host.starts_with("127.0.0.1:"), "{}", preview.host);
    let root = "/providers/acme/car/0.0.0";
    for path in ["/", "/providers/acme/car", "/providers/acme/car/latest"] {
        let moved = preview.get(path);
        assert!(moved.starts_with("HTTP/1.1 303 "), "{moved}");
        assert_has!(moved, &format!("\nlocation: {root}\r"));
    }
    let page = preview.get(root);
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    let link = format!("<a href=\"{root}/docs/resources/wheel\"");
    assert_has!(page, &link);
    let wheel = preview.get(&format!("{root}/docs/resources/wheel"));
    assert_has!(wheel, &format!("<a href=\"{root}/docs\""));
    let text = preview.get(&format!("{root}/docs/resources/wheel.md"));
    assert_has!(text, "content-type: text/markdown");
    let expected = "\r\n\r\n# Wheel\n\n[Home](../index.md)\n";
    assert!(text.ends_with(expected), "{text}");
    let revision = preview.get("/_preview/revision");
    assert_eq!(preview.get("/_preview/revision"), revision);
    let second = format!("{FRONT}# Second\n");
    fs::write(docs.path().join("docs/index.md"), second).unwrap();
    assert_ne!(preview.get("/_preview/revision"), revision);
    let second = preview.get(&format!("{root}/docs"));
    assert_has!(second, ">Second");
    fs::remove_dir_all(docs.path()).unwrap();
    let page = preview.get(&format!("{root}/docs"));
    assert_has!(page, "No such file", ">Second");
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

#[test]
fn a_page_has_the_same_content_as_in_a_registry_that_the_documentation_was_sent_to() {
    let registry = Registry::start();
    let index = format!("{FRONT}# Car\n");
    let wheel = format!("{FRONT}# Wheel\n\n-> **Note** <b>x</b>\n\n```hcl\na = 1\n```\n\n## Two\n");
    let provider = directory(&[
        ("docs/index.md", &index),
        ("docs/resources/wheel.md", &wheel),
    ]);
    let module = directory(&[
        ("main.tf", "variable \"size\" {}\n"),
        ("examples/small/README.md", "# Small\n\n[root](../../)\n"),
        ("examples/small/main.tf", "# An example\n"),
        ("modules/inner/main.tf", "output \"a\" { value = 1 }\n"),
    ]);
    let [docs, packed] = [&provider, &module].map(|it| it.path().to_str().unwrap());
    let dist = Dist::new();
    let line = ["publish", "provider", &dist.path(), "--namespace", "acme"];
    run(&registry, &[&line[..], &["--docs", docs]].concat()).expect(0);
    let address = ["--address", "acme/network/aws", "--version", "0.0.0"];
    let line = ["publish", "module", packed];
    run(&registry, &[&line[..], &address].concat()).expect(0);
    let (_, host) = registry.url().split_once("://").unwrap();
    let of_provider = ["docs", "docs/resources/wheel"];
    let of_module = ["examples/small", "submodules/inner"];
    for (directory, package, version, documents) in [
        (&provider, "providers/acme/hello", "1.2.3", of_provider),
        (&module, "modules/acme/network/aws", "0.0.0", of_module),
    ] {
        let (_, address) = package.split_once('/').unwrap();
        let preview = Preview::start(directory.path(), &["--address", address]);
        for document in documents {
            let shown = preview.get(&format!("/{package}/0.0.0/{document}"));
            let path = format!("/{package}/{version}/{document}");
            let published = get(host, host, &path);
            assert_has!(published, "Published ");
            let shown = main_of(&shown).replace("0.0.0", version);
            let shown = shown.replace("registry.example.com", host);
            assert_eq!(shown, main_of(&published));
        }
    }
}

#[test]
fn only_this_machine_is_answered_and_nothing_else_is_loaded() {
    let docs = directory(&[("docs/index.md", "# A\n")]);
    let preview = Preview::start(docs.path(), &[]);
    let page = preview.get("/providers/example/provider/0.0.0");
    assert_has!(
        page,
        "content-security-policy: default-src 'none'; script-src 'self'; ",
        "cross-origin-resource-policy: same-origin"
    );
    assert_lacks!(page, "<style", "<script>");
    let style = page.split_once("rel=\"stylesheet\" href=\"").unwrap().1;
    let style = preview.get(style.split_once('"').unwrap().0);
    assert_has!(style, "content-type: text/css");
    assert_has!(page, "<script src=\"/_preview/reload.js\" data-revision=\"");
    let script = preview.get("/_preview/reload.js");
    assert_has!(script, "content-type: text/javascript");
    // The problems of the files are shown above the page.
    assert_has!(page.split_once("<main>").unwrap().0, "docs/index.md");
    let foreign = get(&preview.host, "evil.example", "/");
    assert!(foreign.starts_with("HTTP/1.1 421 "), "{foreign}");
    assert_lacks!(foreign, "# A");
    let long = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(20_000));
    assert!(ask(&preview.host, &long).starts_with("HTTP/1.1 431 "));
}
