//! Messages of clients: one JSON-RPC request or notification in each HTTP request
//! (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>).

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::error::{McpError, Refusal};
use super::header::{McpHead, decoded};
use super::revision::Revision;
use super::tools::Tool;
use crate::limits;

const REVISION: &str = "MCP-Protocol-Version";
const METHOD: &str = "Mcp-Method";
const NAME: &str = "Mcp-Name";

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
    /// `initialize`, by a client of an older revision: the first request, answered with this revision.
    Initialize(Revision),
    /// `server/discover`
    Discover,
    /// `ping`
    Ping,
    /// `tools/list`
    ListTools,
    /// `tools/call`: the tool, and its arguments in JSON.
    CallTool(Tool, Option<String>),
    /// `resources/list`: the cursor.
    ListResources(Option<String>),
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
        if json.len() > limits::MCP_ID_BYTES {
            return Err(McpError::NotRequest("its id is too long"));
        }
        Ok(Self(json.to_owned()))
    }

    /// Returns the ID in JSON.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

/// A message as sent. Members that are present and `null` are not absent.
#[derive(Deserialize)]
struct Envelope<'b> {
    #[serde(default)]
    jsonrpc: Option<String>,
    #[serde(default, borrow, deserialize_with = "present")]
    id: Option<&'b RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default, borrow)]
    params: Option<&'b RawValue>,
}

/// The parameters of all methods.
#[derive(Default, Deserialize)]
struct Params<'b> {
    #[serde(default, rename = "_meta", borrow)]
    meta: Option<&'b RawValue>,
    #[serde(default, rename = "protocolVersion")]
    protocol_version: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    uri: Option<String>,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default, borrow)]
    arguments: Option<&'b RawValue>,
}

/// The metadata of a request since revision 2026-07-28.
#[derive(Default, Deserialize)]
struct Meta<'b> {
    #[serde(default, rename = "io.modelcontextprotocol/protocolVersion")]
    revision: Option<String>,
    #[serde(default, borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'b RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Parses a message, and checks that its headers agree with it.
///
/// # Errors
/// The first rule that is violated.
pub fn receive(head: &McpHead<'_>, body: &[u8]) -> Result<Incoming, Refusal> {
    let envelope = envelope(body).map_err(|error| Refusal { id: None, error })?;
    let id = envelope.id.map(|id| RequestId::parse(id.get())).transpose();
    let id = id.map_err(|error| Refusal { id: None, error })?;
    received(head, &envelope, id.clone()).map_err(|error| Refusal { id, error })
}

fn envelope(body: &[u8]) -> Result<Envelope<'_>, McpError> {
    let json: &RawValue = serde_json::from_slice(body).map_err(|_| McpError::NotJson)?;
    match json.get().bytes().next() {
        Some(b'[') => return Err(McpError::Batch),
        Some(b'{') => {}
        _ => return Err(McpError::NotRequest("it is not an object")),
    }
    let rule = "its members jsonrpc, id, method and params must be given once, jsonrpc and method as strings";
    let envelope: Envelope<'_> =
        serde_json::from_slice(json.get().as_bytes()).map_err(|_| McpError::NotRequest(rule))?;
    match envelope.jsonrpc.as_deref() {
        Some("2.0") => Ok(envelope),
        _ => Err(McpError::NotRequest("its member jsonrpc must be \"2.0\"")),
    }
}

fn received(
    head: &McpHead<'_>,
    envelope: &Envelope<'_>,
    id: Option<RequestId>,
) -> Result<Incoming, McpError> {
    let Some(method) = envelope.method.as_deref() else {
        let rule = "it has no method, and this registry sends no requests that it could respond to";
        return Err(McpError::NotRequest(rule));
    };
    let params: Params<'_> = object(envelope.params, "params")?.unwrap_or_default();
    let meta: Meta<'_> = object(params.meta, "_meta")?.unwrap_or_default();
    let Some(id) = id else {
        if let Some(revision) = head.revision {
            known(revision)?;
        }
        return Ok(Incoming::Notification);
    };
    if method == "initialize" && meta.revision.is_none() {
        let requested = params.protocol_version.as_deref();
        let requested = requested.ok_or_else(|| missing("protocolVersion"))?;
        let revision = Revision::initialized(requested);
        return Ok(Incoming::Request(McpRequest {
            id,
            revision,
            operation: Operation::Initialize(revision),
        }));
    }
    let revision = revision(head, &meta)?;
    if revision.is_stateless() {
        check_headers(head, method, &params)?;
        if meta.capabilities.is_none() {
            return Err(missing("_meta.io.modelcontextprotocol/clientCapabilities"));
        }
    }
    let operation = operation(method, params, revision)?;
    Ok(Incoming::Request(McpRequest {
        id,
        revision,
        operation,
    }))
}

/// Returns the revision of a request, by its header and its metadata. Requests with neither are of the first revision with
/// this transport, which had no header.
fn revision(head: &McpHead<'_>, meta: &Meta<'_>) -> Result<Revision, McpError> {
    match (head.revision, meta.revision.as_deref()) {
        (None, None) => Ok(Revision::March2025),
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
            let arguments = params.arguments.map(|it| it.get().to_owned());
            Operation::CallTool(tool, arguments)
        }
        "resources/list" => Operation::ListResources(params.cursor),
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

/// Parses an object. A list is none, although the members of a type could be read from it in their order.
fn object<'b, T: Deserialize<'b>>(
    json: Option<&'b RawValue>,
    name: &str,
) -> Result<Option<T>, McpError> {
    let Some(json) = json else { return Ok(None) };
    let is_object = json.get().starts_with('{');
    let parsed = serde_json::from_slice(json.get().as_bytes()).ok();
    let parsed = parsed.filter(|_| is_object);
    parsed.map(Some).ok_or_else(|| {
        McpError::Params(format!(
            "{name} must be an object, each member of which is given once and has the type of the specification"
        ))
    })
}

fn mismatch(name: &'static str, header: &str, body: &str) -> McpError {
    McpError::HeaderMismatch(name, header.to_owned(), body.to_owned())
}

fn missing(name: &str) -> McpError {
    McpError::Params(format!("{name} is missing"))
}

fn one_page() -> McpError {
    McpError::Params("there is no further page: the first one has everything".to_owned())
}
