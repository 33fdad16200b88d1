//! Adds documentation to a version: sends its description, then its archive if the registry lacks it, and repeats.

use terrace_core::api::admin::{DocumentationAnswer, DocumentationBody, Documented};
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::publish::DocumentationPublication;

use crate::archive::Archive;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::{Client, Condition};
use crate::registry::rounds::Uploads;

/// Documentation to add to a version, which may be published later.
pub(crate) struct DocumentationRequest {
    pub(crate) package: Package,
    pub(crate) version: Version,
    /// The archive, in the form of `terrace_core::documentation`.
    pub(crate) archive: Archive,
    /// The length of its first member in bytes.
    pub(crate) head_length: u64,
    /// The licence of the documentation, which that of another registry's provider needs.
    pub(crate) license: Option<String>,
    /// The page that it was taken from, which that of another registry's provider needs.
    pub(crate) origin: Option<String>,
}

/// The result of an addition.
#[derive(Debug)]
pub(crate) struct DocumentationReceipt {
    /// `created`, `changed` or `unchanged`.
    pub(crate) status: &'static str,
    /// The number of this state of the version's documentation.
    pub(crate) sequence: u64,
    /// Whether the version is published.
    pub(crate) is_published: bool,
}

impl DocumentationReceipt {
    fn new(status: &'static str, documented: &Documented) -> Self {
        Self {
            status,
            sequence: documented.sequence,
            is_published: documented.is_published,
        }
    }
}

impl DocumentationRequest {
    /// Returns the reasons for which the registry would reject the documentation of any version.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let (package, version) = (self.package.clone(), self.version.clone());
        let parsed = DocumentationPublication::parse(package, version, self.body());
        parsed.err().unwrap_or_default()
    }

    /// Sends the documentation.
    ///
    /// # Errors
    /// The reason of the registry or of its storage. The version is not affected.
    pub(crate) fn send(
        &self,
        condition: Condition,
        client: &Client<'_>,
        output: &Output,
    ) -> Result<DocumentationReceipt, Failure> {
        self.send_after(condition, client, output, || Ok(condition))
    }

    /// Does the same. `before_upload` runs once, before the first byte of the archive is sent, and returns the condition that
    /// holds from then on.
    ///
    /// # Errors
    /// Those of `before_upload`, too: then nothing was sent.
    pub(crate) fn send_after(
        &self,
        mut condition: Condition,
        client: &Client<'_>,
        output: &Output,
        before_upload: impl FnOnce() -> Result<Condition, Failure>,
    ) -> Result<DocumentationReceipt, Failure> {
        let body = self.body();
        let archives = std::slice::from_ref(&self.archive);
        let mut uploads = Uploads::new(archives, client, output);
        let mut before_upload = Some(before_upload);
        loop {
            match client.document(&self.package, &self.version, condition, &body)? {
                DocumentationAnswer::Created(it) => {
                    return Ok(DocumentationReceipt::new("created", &it));
                }
                DocumentationAnswer::Changed(it) => {
                    return Ok(DocumentationReceipt::new("changed", &it));
                }
                DocumentationAnswer::Unchanged(it) => {
                    return Ok(DocumentationReceipt::new("unchanged", &it));
                }
                DocumentationAnswer::Incomplete { missing } => {
                    if let Some(before_upload) = before_upload.take() {
                        condition = before_upload()?;
                    }
                    uploads.round(missing)?;
                }
            }
        }
    }

    /// Returns whether this is the documentation that the registry has now.
    ///
    /// # Errors
    /// The registry or its storage did not answer.
    pub(crate) fn is_stored(&self, client: &Client<'_>) -> Result<bool, Failure> {
        let stored = client.documentation(&self.package, &self.version)?;
        Ok(stored.is_some_and(|stored| stored.archive.sha256 == self.archive.sha256))
    }

    /// Removes the documentation of a version after the registry has rejected its release. Documentation that another
    /// publisher has sent in the meantime is kept.
    ///
    /// # Errors
    /// [`Failure::Conflict`] if the version is published and has this documentation.
    pub(crate) fn withdraw(&self, client: &Client<'_>) -> Result<(), Failure> {
        let (package, version) = (&self.package, &self.version);
        match client.remove_unpublished_documentation(package, version, self.archive.sha256) {
            Err(Failure::Conflict(_)) if !self.is_stored(client)? => Ok(()),
            removed => removed,
        }
    }

    fn body(&self) -> DocumentationBody {
        DocumentationBody {
            sha256: self.archive.sha256.to_string(),
            size: self.archive.size,
            head_length: self.head_length,
            license: self.license.clone(),
            origin: self.origin.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::thread::JoinHandle;

    use serde_json::{Value, json};
    use terrace_base::digest::Sha256;

    use super::*;
    use crate::archive::Source;
    use crate::credentials::{Token, TokenPlace};
    use crate::error::Exit;
    use crate::http::{BaseUrl, Http};
    use crate::output::Verbosity;
    use crate::registry::token_source::{Need, TokenSource};

    const ARCHIVE: &[u8] = b"the bytes of an archive";
    const PATH: &str = "/admin/v1/modules/acme/vpc/aws/1.0.0/documentation";

    /// A request as the server has received it: method and path, and the body.
    type Seen = (String, Vec<u8>);

    fn read(stream: &TcpStream) -> Seen {
        let mut reader = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if line.trim().is_empty() {
                break;
            }
            lines.push(line.trim().to_lowercase());
        }
        let length = lines
            .iter()
            .find_map(|it| it.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |it| it.parse().unwrap())];
        reader.read_exact(&mut body).unwrap();
        let first = lines[0].trim_end_matches(" http/1.1");
        (first.to_owned(), body)
    }

    /// Starts a registry that gives these answers, one to each request, and returns the requests at its end.
    fn registry(
        answers: impl FnOnce(&str) -> Vec<(u16, Value)>,
    ) -> (BaseUrl, JoinHandle<Vec<Seen>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answers = answers(&url);
        let seen = std::thread::spawn(move || {
            let mut seen = Vec::new();
            for (status, body) in answers {
                let (mut stream, _) = listener.accept().unwrap();
                seen.push(read(&stream));
                let body = body.to_string();
                let head = format!("content-length: {}\r\nconnection: close", body.len());
                let answer = format!("HTTP/1.1 {status} Answer\r\n{head}\r\n\r\n{body}");
                stream.write_all(answer.as_bytes()).unwrap();
            }
            seen
        });
        (BaseUrl::parse(&url).unwrap(), seen)
    }

    fn documented(status: &str) -> Value {
        json!({ "status": status, "address": "acme/vpc/aws", "version": "1.0.0", "sequence": 3, "is_published": true })
    }

    fn incomplete(url: &str) -> Value {
        let missing = json!({
            "filename": "documentation",
            "sha256": Sha256::of(ARCHIVE).to_string(),
            "size": ARCHIVE.len(),
            "upload": {
                "method": "PUT",
                "url": format!("{url}/bucket"),
                "headers": { "content-type": "application/octet-stream" },
            },
        });
        json!({ "status": "incomplete", "missing": [missing] })
    }

    fn send(url: BaseUrl) -> Result<DocumentationReceipt, Failure> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), ARCHIVE).unwrap();
        let source = Source::File(file.path().to_owned());
        let output = Output::new(false, Verbosity::Quiet, Default::default());
        let http = Http::new(&url, 1, false, &output)?;
        let token = Token::parse("a-token", TokenPlace::Option("--token"))?;
        let tokens = TokenSource::find(Some(token), (&url, None), Need::Required, &output)?;
        let client = Client::new(url, tokens, http)?;
        let request = DocumentationRequest {
            package: Package::Module("acme/vpc/aws".parse().unwrap()),
            version: "1.0.0".parse().unwrap(),
            archive: Archive::read("documentation".to_owned(), source).unwrap(),
            head_length: 4,
            license: None,
            origin: None,
        };
        request.send(Condition::Always, &client, &output)
    }

    #[test]
    fn the_archive_is_uploaded_if_the_registry_lacks_it() {
        let (url, seen) = registry(|url| {
            vec![
                (202, incomplete(url)),
                (200, Value::Null),
                (201, documented("created")),
            ]
        });
        let receipt = send(url).unwrap();
        assert_eq!((receipt.status, receipt.sequence), ("created", 3));
        assert!(receipt.is_published);
        let seen = seen.join().unwrap();
        let lines: Vec<&str> = seen.iter().map(|(line, _)| line.as_str()).collect();
        let put = format!("put {PATH}");
        assert_eq!(lines, [put.as_str(), "put /bucket", put.as_str()]);
        assert_eq!(seen[1].1, ARCHIVE);
        let body: Value = serde_json::from_slice(&seen[0].1).unwrap();
        let digest = Sha256::of(ARCHIVE).to_string();
        let size = ARCHIVE.len();
        assert_eq!(
            body,
            json!({ "sha256": digest, "size": size, "head_length": 4 })
        );
    }

    #[test]
    fn a_failed_upload_is_retried_with_a_fresh_url() {
        let (url, seen) = registry(|url| {
            vec![
                (202, incomplete(url)),
                (403, Value::Null),
                (202, incomplete(url)),
                (200, Value::Null),
                (200, documented("changed")),
            ]
        });
        assert_eq!(send(url).unwrap().status, "changed");
        assert_eq!(seen.join().unwrap().len(), 5);
    }

    #[test]
    fn nothing_is_uploaded_if_the_registry_has_the_documentation() {
        let (url, seen) = registry(|_| vec![(200, documented("unchanged"))]);
        assert_eq!(send(url).unwrap().status, "unchanged");
        assert_eq!(seen.join().unwrap().len(), 1);
    }

    #[test]
    fn a_rejection_states_the_reason_of_the_registry() {
        let reason = "the head of the documentation is not valid";
        let answer = json!({ "status": "invalid", "errors": [reason] });
        let (url, _) = registry(|_| vec![(422, answer)]);
        let failure = send(url).unwrap_err();
        assert_eq!(failure.exit(), Exit::Rejected);
        assert!(format!("{failure:?}").contains(reason), "{failure:?}");
    }
}
