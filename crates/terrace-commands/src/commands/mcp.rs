//! `terrace mcp`: the registry for assistants that start a program and speak to it, by the stdio transport of the Model Context
//! Protocol. Each line is a message.
//!
//! The program passes messages on, and decides nothing: requests and answers are those of the registry.

use std::io::{BufRead, Read as _, Write};

use serde::Deserialize;
use serde_json::{Value, json};
use terrace_core::mcp::{MCP_BODY_BYTES, mcp_name_header};

use crate::commands::connection::Session;
use crate::error::Failure;
use crate::registry::client::Client;

/// The longest line that is read, in bytes: the registry accepts no longer message, and a line may have spaces.
const LINE_BYTES: u64 = 2 * MCP_BODY_BYTES;

/// The notification of a client that no longer waits for an answer. Over HTTP it is the end of the connection.
const CANCELLED: &str = "notifications/cancelled";

/// The place of the revision that a request states, in its parameters (RFC 6901).
const REVISION: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";

/// The parts of a message that its headers repeat.
#[derive(Default, Deserialize)]
struct Message {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: String,
    #[serde(default)]
    params: Value,
}

/// Executes the command: until standard input ends.
pub(crate) fn run(session: Session<'_>) -> Result<(), Failure> {
    let client = session.connect_reader()?;
    let (input, out) = (std::io::stdin().lock(), std::io::stdout().lock());
    serve(&client, input, out).map_err(|cause| {
        Failure::Unexpected(format!("the connection to the assistant failed: {cause}"))
    })
}

fn serve(client: &Client<'_>, mut input: impl BufRead, mut out: impl Write) -> std::io::Result<()> {
    // Clients of older revisions state theirs only once.
    let mut negotiated = None;
    loop {
        let mut line = Vec::new();
        let read = (&mut input).take(LINE_BYTES).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        if let Some(answer) = answer(client, &line, &mut negotiated) {
            writeln!(out, "{answer}")?;
            out.flush()?;
        }
    }
}

/// Returns the answer to a message on one line; `None` if it is a notification.
fn answer(client: &Client<'_>, line: &[u8], negotiated: &mut Option<String>) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let message: Message = serde_json::from_str(&text).unwrap_or_default();
    if message.method == CANCELLED {
        return None;
    }
    let stated = message.params.pointer(REVISION).and_then(Value::as_str);
    let revision = stated.map(str::to_owned);
    let mut names = ["name", "uri"].iter();
    let name = names.find_map(|it| message.params.get(it)?.as_str());
    let method = Some(message.method.clone()).filter(|it| !it.is_empty());
    let headers = [
        (
            "mcp-protocol-version",
            revision.or_else(|| negotiated.clone()),
        ),
        ("mcp-method", method),
        ("mcp-name", name.map(mcp_name_header)),
    ];
    let is_request = message.id.is_some() || message.method.is_empty();
    match client.mcp(text.trim(), headers) {
        Ok(answer) if !is_request && answer.is_success() => None,
        Ok(answer) => match serde_json::from_str::<Value>(&answer.text) {
            Ok(parsed) if parsed.get("jsonrpc").is_some_and(|it| it == "2.0") => {
                if message.method == "initialize" {
                    let revision = parsed.pointer("/result/protocolVersion");
                    *negotiated = revision.and_then(Value::as_str).map(str::to_owned);
                }
                Some(with_id(parsed, message.id))
            }
            _ => failed(message.id, &client.mcp_failure(answer)),
        },
        Err(failure) => failed(message.id, &failure),
    }
}

/// Returns an answer on one line. An error that the registry answers before it reads the message has no ID, and the client
/// would wait.
fn with_id(mut answer: Value, id: Option<Value>) -> String {
    if let (Some(members), Some(id)) = (answer.as_object_mut(), id) {
        members.entry("id").or_insert(id);
    }
    answer.to_string()
}

/// Returns the answer to a request that the registry did not answer.
fn failed(id: Option<Value>, failure: &Failure) -> Option<String> {
    let message = failure.reasons().join("; ");
    let error = json!({ "code": -32603, "message": message });
    Some(json!({ "jsonrpc": "2.0", "id": id?, "error": error }).to_string())
}
