//! `terrace docs preview`.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::{directory, ended, terrace};

/// A running preview, which ends with the test.
struct Preview {
    child: Child,
    host: String,
}

impl Preview {
    fn start(path: &Path) -> Self {
        let mut command = terrace(&["docs", "preview", path.to_str().unwrap()]);
        command
            .args(["--port", "0", "--json"])
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

#[test]
fn pages_are_shown_with_a_navigation_and_change_with_the_files() {
    let docs = directory(&[
        ("docs/index.md", "---\npage_title: First\n---\n# <Hello>\n"),
        (
            "docs/resources/wheel.md",
            "---\npage_title: Wheel\n---\n# Wheel\n",
        ),
    ]);
    let preview = Preview::start(docs.path());
    assert!(preview.host.starts_with("127.0.0.1:"), "{}", preview.host);
    let page = preview.get("/");
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(page.contains("<pre># &lt;Hello&gt;"), "{page}");
    let link = "<a href=\"/resources/wheel\">Wheel</a>";
    assert!(page.contains(link), "{page}");
    assert!(preview.get("/resources/wheel").contains("<pre># Wheel"));
    assert!(preview.get("/resources/none").starts_with("HTTP/1.1 404 "));
    let revision = preview.get("/revision");
    assert_eq!(preview.get("/revision"), revision);
    fs::write(
        docs.path().join("docs/index.md"),
        "---\npage_title: Second\n---\n",
    )
    .unwrap();
    assert_ne!(preview.get("/revision"), revision);
    assert!(preview.get("/").contains("<h1>Second</h1>"));
    fs::remove_dir_all(docs.path()).unwrap();
    assert!(preview.get("/").contains("No such file"));
}

#[test]
fn the_details_and_examples_of_a_module_are_shown() {
    let module = directory(&[
        (
            "main.tf",
            "variable \"size\" {\n  type = number\n  default = 3\n}\n",
        ),
        ("README.md", "# Network\n"),
        ("examples/small/main.tf", "# An example\n"),
    ]);
    let preview = Preview::start(module.path());
    let page = preview.get("/");
    assert!(page.contains("# Network"), "{page}");
    assert!(page.contains("size (number) = 3"), "{page}");
    assert!(
        preview
            .get("/examples/small/main.tf")
            .contains("# An example")
    );
}

#[test]
fn only_this_machine_is_answered_and_nothing_else_is_loaded() {
    let docs = directory(&[("docs/index.md", "# A\n")]);
    let preview = Preview::start(docs.path());
    let page = preview.get("/");
    assert!(
        page.contains("content-security-policy: default-src 'none'; "),
        "{page}"
    );
    assert!(
        !page.contains("<style") && !page.contains("onload"),
        "{page}"
    );
    let script = preview.get("/reload.js");
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
