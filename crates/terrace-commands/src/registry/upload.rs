//! Uploads of archives to the URLs that the registry names, several at once.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use terrace_core::api::admin::{ErrorBody, MissingArchive};
use ureq::http::{Request, Response, header};
use ureq::{Agent, Body, SendBody};

use crate::archive::Archive;
use crate::error::Failure;
use crate::output::{Bar, Output, bytes};
use crate::{http, parallel};

/// The maximum number of parallel uploads.
const PARALLEL_UPLOADS: usize = 4;

/// The outcome of one upload.
pub(crate) enum Upload {
    Sent,
    /// Another publisher was faster, or the response to an earlier attempt was lost.
    AlreadyThere,
    /// It may succeed with a fresh URL, after this pause if the storage requests one.
    Failed(Failure, Option<Duration>),
    /// It failed, and a retry does not help.
    Refused(Failure),
    /// An earlier failure showed that an attempt would be useless.
    NotTried,
}

/// The storage of the registry, as its settings call it.
pub(crate) const STORAGE: &str = "the storage in the registry's settings (TERRACE_S3_…)";

/// The second bucket, as the settings of the registry call it.
pub(crate) const FALLBACK: &str =
    "the second bucket in the registry's settings (TERRACE_S3_FALLBACK_…)";

/// Uploads every archive to its URL in a storage, [`STORAGE`] or [`FALLBACK`]. Returns the outcomes in the same order.
pub(crate) fn upload(
    agent: &Agent,
    storage: &str,
    jobs: &[(&Archive, MissingArchive)],
    output: &Output,
) -> Vec<Upload> {
    let stop = AtomicBool::new(false);
    parallel::map(jobs, PARALLEL_UPLOADS, |(archive, missing)| {
        if stop.load(Ordering::Relaxed) {
            return Upload::NotTried;
        }
        let outcome = send(agent, storage, archive, missing, output);
        if let Upload::Failed(..) | Upload::Refused(_) = outcome {
            stop.store(true, Ordering::Relaxed);
        }
        outcome
    })
}

fn send(
    agent: &Agent,
    storage: &str,
    archive: &Archive,
    missing: &MissingArchive,
    output: &Output,
) -> Upload {
    let filename = &archive.filename;
    if !output.draws() {
        let size = bytes(archive.size);
        output.progress(&format!("uploading {filename} ({size})"));
    }
    let bar = output.upload_bar(filename, archive.size);
    let outcome = match put(agent, archive, missing, &bar) {
        Ok(response) => judge(filename, storage, response),
        // The error may quote the URL, which is a secret.
        Err(error) => {
            let reason = format!("{filename}: the upload failed: {}", http::describe(&error));
            let failure = Failure::Unavailable(reason);
            match http::is_transient_error(&error) {
                true => Upload::Failed(failure, None),
                false => Upload::Refused(failure),
            }
        }
    };
    drop(bar);
    match outcome {
        Upload::Sent => output.progress(&format!("uploaded {filename}")),
        Upload::AlreadyThere => output.progress(&format!("{filename} is already stored")),
        _ => {}
    }
    outcome
}

/// Sends the bytes with exactly the headers that were signed.
fn put(
    agent: &Agent,
    archive: &Archive,
    missing: &MissingArchive,
    bar: &Bar,
) -> Result<Response<Body>, ureq::Error> {
    let file = archive.source.open()?;
    let mut body = Counted {
        reader: file.take(archive.size),
        bar,
    };
    let mut request = Request::builder()
        .method(missing.upload.method.as_str())
        .uri(&missing.upload.url);
    for (name, value) in &missing.upload.headers {
        // The client derives this header from the URL.
        if !name.eq_ignore_ascii_case("host") {
            request = request.header(name, value);
        }
    }
    let signs_length = |name: &String| name.eq_ignore_ascii_case("content-length");
    if !missing.upload.headers.keys().any(signs_length) {
        request = request.header(header::CONTENT_LENGTH, archive.size);
    }
    let request = request.body(SendBody::from_reader(&mut body))?;
    agent.run(request)
}

fn judge(filename: &str, storage: &str, response: Response<Body>) -> Upload {
    let status = response.status().as_u16();
    let asked = http::retry_after(&response);
    let explanation = explanation(response);
    let reason = format!("{filename}: the storage responded with status {status}{explanation}");
    match status {
        200..=299 => Upload::Sent,
        412 => Upload::AlreadyThere,
        // Signed URLs expire while others are in use; a retry with a fresh one shows whether that is the
        // cause.
        403 => {
            let failure = Failure::NotAllowed(format!(
                "{reason}; if this persists, the key pair of {storage} is wrong, or may not write"
            ));
            Upload::Failed(failure, Some(Duration::ZERO))
        }
        404 => {
            let reason = format!("{reason}; {storage} does not exist");
            Upload::Refused(Failure::Unexpected(reason))
        }
        _ if http::is_transient_status(status) => {
            Upload::Failed(Failure::Unavailable(reason), asked)
        }
        _ => Upload::Refused(Failure::refused(reason)),
    }
}

/// Returns the storage's description of an error: the registry's JSON, or the two elements of an S3 error
/// that contain no secrets.
fn explanation(response: Response<Body>) -> String {
    let text = http::text(response).unwrap_or_default();
    if let Ok(body) = serde_json::from_str::<ErrorBody>(&text) {
        return format!(": {}", body.errors.join("; "));
    }
    let element = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        let (content, _) = rest.split_once(&format!("</{name}>"))?;
        Some(format!(": {content}"))
    };
    ["Code", "Message"]
        .into_iter()
        .filter_map(element)
        .collect()
}

/// Advances the bar as bytes are read.
struct Counted<'a, R> {
    reader: R,
    bar: &'a Bar,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.bar.advance(u64::try_from(count).unwrap_or_default());
        Ok(count)
    }
}
