//! The program wrangler, which is signed in to the account that a registry is deployed to. Only commands that change nothing
//! are run.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use console::strip_ansi_codes;
use serde_json::Value;

use crate::clock::Stopwatch;

/// The time for a command of wrangler: seconds, but a minute on a machine with much other work.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The pause between two looks at a program that runs.
const PAUSE: Duration = Duration::from_millis(20);

/// The time for the end of its output to arrive after it has ended.
const LAST_OUTPUT: Duration = Duration::from_secs(2);

/// The most bytes that are read of its output: lists of buckets and namespaces, of which an account may have thousands.
const OUTPUT_BYTES: u64 = 4 * 1024 * 1024;

/// The most characters of a reason.
const REASON_CHARS: usize = 300;

/// The place of the program in an installed npm package.
const SCRIPT: &str = "node_modules/wrangler/bin/wrangler.js";

/// Where a directory above may have a Node that is new enough for wrangler.
const PACKAGED_NODE: &str = "node_modules/node/bin/node";

/// wrangler, as the scripts of the project and people run it.
#[derive(Debug)]
pub(super) struct Wrangler {
    /// The program, with its first arguments.
    command: Vec<OsString>,
    /// The configuration file, if one is named.
    config: Option<PathBuf>,
    account: Option<String>,
}

/// A command of wrangler that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The program could not be run to its end.
    NotRun(String),
    /// It reported an error.
    Reported {
        /// The message, in one line.
        reason: String,
        /// The code of Cloudflare's API, if it has one.
        code: Option<u32>,
        /// Its standard output.
        output: String,
    },
}

impl Refusal {
    /// Returns the reason in one line.
    pub(super) fn reason(&self) -> &str {
        match self {
            Self::NotRun(reason) | Self::Reported { reason, .. } => reason,
        }
    }

    /// Returns the code of Cloudflare's API.
    pub(super) fn code(&self) -> Option<u32> {
        match self {
            Self::NotRun(_) => None,
            Self::Reported { code, .. } => *code,
        }
    }
}

impl Wrangler {
    /// Finds the program: in the packages of this directory or of one above, as npm does, or else on the PATH.
    pub(super) fn find(config: Option<&Path>, account: Option<&str>) -> Self {
        let here = env::current_dir().unwrap_or_default();
        let packaged = here.ancestors().find(|it| it.join(SCRIPT).is_file());
        let command = match packaged {
            Some(directory) => vec![node(directory), directory.join(SCRIPT).into()],
            // On Windows, npm installs a script.
            None if cfg!(windows) => vec!["wrangler.cmd".into()],
            None => vec!["wrangler".into()],
        };
        Self {
            command,
            config: config.map(Path::to_owned),
            account: account.map(str::to_owned),
        }
    }

    /// Runs a command, and returns its standard output.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<String, Refusal> {
        let [program, first @ ..] = self.command.as_slice() else {
            return Err(Refusal::NotRun("no program is known".to_owned()));
        };
        let mut command = Command::new(program);
        command.args(first).args(arguments);
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        if let Some(account) = &self.account {
            // Some commands do not read the configuration.
            command.env("CLOUDFLARE_ACCOUNT_ID", account);
        }
        command
            .env("WRANGLER_SEND_METRICS", "false")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // wrangler needs none of the registry's secrets.
        for (name, _) in env::vars_os() {
            if name.to_string_lossy().starts_with("TERRACE_") {
                command.env_remove(name);
            }
        }
        let child = command
            .spawn()
            .map_err(|error| Refusal::NotRun(format!("{}: {error}", program.display())))?;
        finish(child)
    }

    /// Runs a command, and returns the JSON document that it prints.
    pub(super) fn json(&self, arguments: &[&str]) -> Result<Value, Refusal> {
        let output = self.run(arguments)?;
        json(&output).ok_or_else(|| Refusal::Reported {
            reason: format!("`wrangler {}` printed no JSON", arguments.join(" ")),
            code: None,
            output,
        })
    }
}

/// Returns the Node that runs the wrangler of a directory: the one that the project installs, or that on the PATH.
fn node(directory: &Path) -> OsString {
    let mut packaged = directory.join(PACKAGED_NODE);
    packaged.set_extension(env::consts::EXE_EXTENSION);
    match packaged.is_file() {
        true => packaged.into(),
        false => OsStr::new("node").to_owned(),
    }
}

/// Waits for the end of a program, with a limit of its time and of its output.
fn finish(mut child: Child) -> Result<String, Refusal> {
    let out = child.stdout.take().map(read);
    let err = child.stderr.take().map(read);
    let watch = Stopwatch::start();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if watch.rest_of(TIMEOUT).is_some() => thread::sleep(PAUSE),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                let seconds = TIMEOUT.as_secs();
                let reason = format!("wrangler did not end within {seconds} s");
                return Err(Refusal::NotRun(reason));
            }
        }
    };
    let text = |output: Option<Receiver<String>>| {
        let text = output.and_then(|it| it.recv_timeout(LAST_OUTPUT).ok());
        text.unwrap_or_default()
    };
    let (out, err) = (text(out), text(err));
    match status.success() {
        true => Ok(out),
        false => Err(refusal(out, &err)),
    }
}

/// Reads a stream to its end in a thread of its own. A program that outlives wrangler may keep the stream open.
fn read(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut stream = stream;
        let mut bytes = Vec::new();
        let _ = stream.by_ref().take(OUTPUT_BYTES).read_to_end(&mut bytes);
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
        // Otherwise the program would wait for a reader.
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    receiver
}

/// Returns the document that an output begins with, after empty lines and the banner.
pub(super) fn json(output: &str) -> Option<Value> {
    let is_start = |line: &&str| line.starts_with(['{', '[']);
    let first = output.lines().find(is_start)?;
    let start = output.find(first)?;
    serde_json::from_str(output.get(start..)?.trim()).ok()
}

/// Reads the error that wrangler prints: a line with `[ERROR]`, and lines with the codes of Cloudflare's API.
fn refusal(output: String, errors: &str) -> Refusal {
    let errors = strip_ansi_codes(errors);
    let is_of_message = |line: &&str| {
        !line.starts_with("If you think this is a bug") && !line.contains("Logs were written to")
    };
    let lines = || errors.lines().map(str::trim).filter(|it| !it.is_empty());
    let reported = lines()
        .skip_while(|line| !line.contains("[ERROR]"))
        .take_while(is_of_message);
    let mut reason: Vec<&str> = reported.collect();
    if reason.is_empty() {
        // Node itself, or a wrangler that refuses this Node.
        reason = lines().take(3).collect();
    }
    let reason = reason.join(" ");
    let reason = match reason.split_once("[ERROR]") {
        Some((_, message)) => message.trim().to_owned(),
        None if reason.is_empty() => "wrangler failed without a message".to_owned(),
        None => reason,
    };
    let code = reason
        .split("[code: ")
        .nth(1)
        .and_then(|rest| rest.split(']').next()?.parse().ok());
    Refusal::Reported {
        reason: reason.chars().take(REASON_CHARS).collect(),
        code,
        output,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_api_is_read_with_its_code() {
        let errors = "\u{1b}[31m✘ \u{1b}[41;31m[\u{1b}[41;97mERROR\u{1b}[41;31m]\u{1b}[0m \u{1b}[1mA request to the Cloudflare API \
                      (/accounts/0/r2/buckets) failed.\u{1b}[0m\n\n  Please enable R2 through the Cloudflare Dashboard. [code: 10042]\n  \n  \
                      If you think this is a bug, please open an issue at: x\n\n\n🪵  Logs were written to \"x\"\n";
        let found = refusal(String::new(), errors);
        assert_eq!(found.code(), Some(10042));
        let expected = "A request to the Cloudflare API (/accounts/0/r2/buckets) failed. Please enable R2 through the Cloudflare \
                        Dashboard. [code: 10042]";
        assert_eq!(found.reason(), expected);
    }

    #[test]
    fn an_error_without_a_message_of_wrangler_is_its_first_lines() {
        let found = refusal(
            String::new(),
            "Wrangler requires at least Node.js v22.12.0.\n\nYou are using v20.\n",
        );
        assert_eq!(
            found.reason(),
            "Wrangler requires at least Node.js v22.12.0. You are using v20."
        );
        assert_eq!(
            refusal(String::new(), "").reason(),
            "wrangler failed without a message"
        );
    }

    #[test]
    fn a_document_is_found_after_other_lines() {
        assert_eq!(json("\n{\"loggedIn\":false}\n").unwrap()["loggedIn"], false);
        assert_eq!(json("banner\n[\n  1\n]\n").unwrap()[0], 1);
        assert_eq!(json("nothing"), None);
    }
}
