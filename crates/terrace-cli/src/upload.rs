//! Sending archives where the registry says, several at once.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::sync::Mutex;
use std::thread;

use indicatif::ProgressBar;
use terrace_core::admin::MissingArchive;
use ureq::{Agent, SendBody};

use crate::client::retry_after;
use crate::error::Failure;
use crate::output::Output;
use crate::retry::{Tried, is_passing, retry};
use crate::source::Archive;

/// How many archives are sent at once.
const PARALLEL: usize = 4;

/// Sends all of `missing`; `archives` are the bytes, by their digest in hexadecimal.
pub(crate) fn upload(
    agent: &Agent,
    missing: Vec<MissingArchive>,
    archives: &BTreeMap<String, Archive>,
    output: &Output,
) -> Result<(), Failure> {
    let queue = Mutex::new(VecDeque::from(missing));
    let failures = Mutex::new(Vec::new());
    let next = || queue.lock().ok().and_then(|mut queue| queue.pop_front());
    thread::scope(|scope| {
        for _ in 0..PARALLEL {
            scope.spawn(|| {
                while let Some(missing) = next() {
                    if let Err(failure) = upload_one(agent, &missing, archives, output)
                        && let Ok(mut failures) = failures.lock()
                    {
                        failures.push(failure);
                    }
                }
            });
        }
    });
    match failures.into_inner().unwrap_or_default().pop() {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

fn upload_one(
    agent: &Agent,
    missing: &MissingArchive,
    archives: &BTreeMap<String, Archive>,
    output: &Output,
) -> Result<(), Failure> {
    let MissingArchive {
        filename,
        sha256,
        size,
        ..
    } = missing;
    let archive = archives.get(sha256).ok_or_else(|| {
        Failure::Unexpected(format!(
            "the registry asks for {filename}, which is not ours"
        ))
    })?;
    output.progress(&format!("uploading {filename} ({size} bytes)"));
    let bar = output.upload_bar(filename, *size);
    let sent = retry(|| send(agent, missing, archive, &bar));
    bar.finish_and_clear();
    sent
}

/// One try. The store may have the archive by now (412): that is what is wanted.
fn send(
    agent: &Agent,
    missing: &MissingArchive,
    archive: &Archive,
    bar: &ProgressBar,
) -> Tried<(), Failure> {
    let filename = &missing.filename;
    bar.set_position(0);
    let reader = match archive.source.open() {
        Ok(reader) => reader,
        Err(error) => return Tried::Done(Err(Failure::refused(format!("{filename}: {error}")))),
    };
    let mut body = Counted { reader, bar };
    let mut request = ureq::http::Request::builder()
        .method(missing.upload.method.as_str())
        .uri(&missing.upload.url)
        .header("content-length", archive.size);
    for (name, value) in &missing.upload.headers {
        request = request.header(name, value);
    }
    let request = match request.body(SendBody::from_reader(&mut body)) {
        Ok(request) => request,
        Err(error) => return Tried::Done(Err(Failure::Unexpected(error.to_string()))),
    };
    match agent.run(request) {
        Ok(response) => match response.status().as_u16() {
            200..=299 | 412 => Tried::Done(Ok(())),
            status if is_passing(status) => {
                let failure =
                    Failure::Unavailable(format!("{filename}: the store answers {status}"));
                Tried::Again(failure, retry_after(&response))
            }
            status => Tried::Done(Err(Failure::refused(format!(
                "{filename}: the store refuses the upload with status {status}; run the same \
                 command again for a fresh URL"
            )))),
        },
        // The URL is a secret, and the error may quote it.
        Err(error) => Tried::Again(
            Failure::Unavailable(format!(
                "{filename}: the upload broke: {}",
                without_url(&error)
            )),
            None,
        ),
    }
}

fn without_url(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BadUri(_) => "the URL is malformed".to_owned(),
        other => other.to_string(),
    }
}

/// Moves the bar as bytes are read.
struct Counted<'a, R> {
    reader: R,
    bar: &'a ProgressBar,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.bar.inc(u64::try_from(count).unwrap_or_default());
        Ok(count)
    }
}
