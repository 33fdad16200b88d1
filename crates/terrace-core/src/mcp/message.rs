//! Messages of clients: one JSON-RPC request or notification in each HTTP request
//! (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>).

use serde_json::value::RawValue;
use terrace_base::untrusted::quoted;

use super::error::{McpError, Refusal};
use super::header::{McpHead, decoded};
use super::members::Members;
use super::revision::Revision;
use super::tools::Tool;
use crate::model::package::Package;

/// Maximum length of the ID of an MCP request, in bytes: it is repeated in the response. Clients send numbers and UUIDs.
const MCP_ID_BYTES: usize = 128;

const REVISION: &str = "MCP-Protocol-Version";
const METHOD: &str = "Mcp-Method";
const NAME: &str = "Mcp-Name";

/// The members of the metadata of a request.
const META_REVISION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// It is answered.
    Request(McpRequest),
    /// It is accepted. No notification of a client concerns a registry without sessions.
    Notification,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpRequest {
    /// The ID, which the response repeats.
    pub id: RequestId,
    /// The revision by which it is answered.
    pub revision: Revision,
    /// The requested operation.
    pub operation: Operation,
}

/// The ID of a request: a string or a number, in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(String);

/// The method of a request, with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// `initialize`, by a client of an older revision: the first request, answered with the newest revision that has it.
    Initialize,
    /// `server/discover`
    Discover,
    /// `ping`
    Ping,
    /// `tools/list`
    ListTools,
    /// `tools/call`: the tool, and its arguments in JSON.
    CallTool(Tool, Option<String>),
    /// `resources/list`: the cursor, which is the last package of the previous page.
    ListResources(Option<Package>),
    /// `resources/templates/list`
    ListTemplates,
    /// `resources/read`: the URI.
    ReadResource(String),
}

impl RequestId {
    /// Parses the ID of a message.
    fn parse(json: &str) -> Result<Self, McpError> {
        let is_text = json.starts_with('"');
        let digits = json.strip_prefix('-').unwrap_or(json);
        let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_text && !is_integer {
            let rule = "its id must be a string or an integer";
            return Err(McpError::NotRequest(rule));
        }
        if json.len() > MCP_ID_BYTES {
            return Err(McpError::NotRequest("its id is too long"));
        }
        Ok(Self(json.to_owned()))
    }

    /// Returns the ID in JSON.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

/// A message as sent.
struct Envelope<'b> {
    method: Option<String>,
    params: Params<'b>,
}

/// The parameters of all methods.
#[derive(Default)]
struct Params<'b> {
    name: Option<String>,
    uri: Option<String>,
    cursor: Option<String>,
    arguments: Option<&'b str>,
    /// The revision and the capabilities in the metadata, since revision 2026-07-28.
    revision: Option<String>,
    has_capabilities: bool,
}

/// Parses a message, and checks that its headers agree with it.
///
/// # Errors
/// The first rule that is violated.
pub fn receive(head: &McpHead<'_>, body: &[u8]) -> Result<Incoming, Refusal> {
    let unread = |error| Refusal { id: None, error };
    let mut members = members(body).map_err(unread)?;
    let id = members.take("id").map(RequestId::parse).transpose();
    let id = id.map_err(unread)?;
    let received = envelope(members).and_then(|envelope| received(head, envelope, id.clone()));
    received.map_err(|error| Refusal { id, error })
}

fn members(body: &[u8]) -> Result<Members<'_>, McpError> {
    let json: &RawValue = serde_json::from_slice(body).map_err(|_| McpError::NotJson)?;
    match json.get().bytes().next() {
        Some(b'[') => Err(McpError::Batch),
        Some(b'{') => Members::parse(json.get().as_bytes())
            .ok_or(McpError::NotRequest("a member of it is given twice")),
        _ => Err(McpError::NotRequest("it is not an object")),
    }
}

fn envelope(mut members: Members<'_>) -> Result<Envelope<'_>, McpError> {
    let not_text = |_| McpError::NotRequest("its members jsonrpc and method must be texts");
    match members.text("jsonrpc").map_err(not_text)?.as_deref() {
        Some("2.0") => {}
        _ => return Err(McpError::NotRequest("its member jsonrpc must be \"2.0\"")),
    }
    Ok(Envelope {
        method: members.text("method").map_err(not_text)?,
        params: match object(members.take("params"), "params")? {
            Some(members) => params(members)?,
            None => Params::default(),
        },
    })
}

fn params(mut members: Members<'_>) -> Result<Params<'_>, McpError> {
    let not_text =
        |_| McpError::Params("a name, a URI, a cursor and a revision must be texts".to_owned());
    let meta = object(members.take("_meta"), "_meta")?;
    let (revision, has_capabilities) = match meta {
        None => (None, false),
        Some(mut meta) => (
            meta.text(META_REVISION).map_err(not_text)?,
            meta.take(META_CAPABILITIES).is_some(),
        ),
    };
    Ok(Params {
        name: members.text("name").map_err(not_text)?,
        uri: members.text("uri").map_err(not_text)?,
        cursor: members.text("cursor").map_err(not_text)?,
        arguments: members.take("arguments"),
        revision,
        has_capabilities,
    })
}

fn received(
    head: &McpHead<'_>,
    Envelope { method, params }: Envelope<'_>,
    id: Option<RequestId>,
) -> Result<Incoming, McpError> {
    let Some(method) = method else {
        let rule = "it has no method, and this registry sends no requests that it could respond to";
        return Err(McpError::NotRequest(rule));
    };
    let Some(id) = id else {
        if let Some(revision) = head.revision {
            known(revision)?;
        }
        return Ok(Incoming::Notification);
    };
    if method == "initialize" && params.revision.is_none() {
        return Ok(Incoming::Request(McpRequest {
            id,
            revision: Revision::November2025,
            operation: Operation::Initialize,
        }));
    }
    let revision = revision(head, params.revision.as_deref())?;
    if revision.is_stateless() {
        check_headers(head, &method, &params)?;
        if !params.has_capabilities {
            return Err(missing("_meta.io.modelcontextprotocol/clientCapabilities"));
        }
    }
    let operation = operation(&method, params, revision)?;
    Ok(Incoming::Request(McpRequest {
        id,
        revision,
        operation,
    }))
}

/// Returns the revision of a request, by its header and its metadata. Some clients send neither after
/// `initialize`.
fn revision(head: &McpHead<'_>, stated: Option<&str>) -> Result<Revision, McpError> {
    match (head.revision, stated) {
        (None, None) => Ok(Revision::November2025),
        (None, Some(_)) => Err(McpError::HeaderMissing(REVISION)),
        (Some(header), Some(body)) if header != body => Err(mismatch(REVISION, header, body)),
        (Some(header), body) => match known(header)? {
            revision if revision.is_stateless() && body.is_none() => {
                Err(mismatch(REVISION, header, ""))
            }
            revision => Ok(revision),
        },
    }
}

fn known(name: &str) -> Result<Revision, McpError> {
    Revision::parse(name).ok_or_else(|| McpError::UnsupportedRevision(name.to_owned()))
}

/// Checks the headers that repeat the method, and the name of the tool or the URI of the resource.
fn check_headers(head: &McpHead<'_>, method: &str, params: &Params<'_>) -> Result<(), McpError> {
    match head.method {
        None => return Err(McpError::HeaderMissing(METHOD)),
        Some(header) if header != method => return Err(mismatch(METHOD, header, method)),
        Some(_) => {}
    }
    let name = match method {
        "tools/call" | "prompts/get" => params.name.as_deref(),
        "resources/read" => params.uri.as_deref(),
        _ => return Ok(()),
    };
    let header = head.name.ok_or(McpError::HeaderMissing(NAME))?;
    let name = name.unwrap_or_default();
    match decoded(header) {
        Some(decoded) if decoded == name => Ok(()),
        _ => Err(mismatch(NAME, header, name)),
    }
}

fn operation(method: &str, params: Params<'_>, revision: Revision) -> Result<Operation, McpError> {
    let is_stateless = revision.is_stateless();
    Ok(match method {
        "server/discover" if is_stateless => Operation::Discover,
        "ping" if !is_stateless => Operation::Ping,
        "tools/list" => match params.cursor {
            None => Operation::ListTools,
            Some(_) => return Err(one_page()),
        },
        "tools/call" => {
            let name = params.name.ok_or_else(|| missing("name"))?;
            let tool = Tool::parse(&name).ok_or(McpError::UnknownTool(name))?;
            let arguments = params.arguments.map(str::to_owned);
            Operation::CallTool(tool, arguments)
        }
        "resources/list" => Operation::ListResources(params.cursor.map(last_package).transpose()?),
        "resources/templates/list" => match params.cursor {
            None => Operation::ListTemplates,
            Some(_) => return Err(one_page()),
        },
        "resources/read" => Operation::ReadResource(params.uri.ok_or_else(|| missing("uri"))?),
        method => {
            return Err(McpError::UnknownMethod {
                method: method.to_owned(),
                revision,
            });
        }
    })
}

/// Parses an object, if there is one.
fn object<'b>(json: Option<&'b str>, name: &str) -> Result<Option<Members<'b>>, McpError> {
    match json {
        None | Some("null") => Ok(None),
        Some(json) => match Members::parse(json.as_bytes()) {
            Some(members) => Ok(Some(members)),
            None => Err(McpError::Params(format!(
                "{name} must be an object, each member of which is given once"
            ))),
        },
    }
}

fn mismatch(name: &'static str, header: &str, body: &str) -> McpError {
    McpError::HeaderMismatch(name, header.to_owned(), body.to_owned())
}

fn missing(name: &str) -> McpError {
    McpError::Params(format!("{name} is missing"))
}

/// Parses the cursor of `resources/list`.
fn last_package(cursor: String) -> Result<Package, McpError> {
    Package::parse_key(&cursor).ok_or_else(|| {
        McpError::Params(format!(
            "the cursor {} is not the nextCursor of a previous page: list again without a cursor",
            quoted(&cursor)
        ))
    })
}

fn one_page() -> McpError {
    McpError::Params("there is no further page: the first one has everything".to_owned())
}
