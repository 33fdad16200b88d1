//! Messages of clients: one JSON-RPC request or notification in each HTTP request, whose headers repeat parts of its body, and
//! the errors of the protocol
//! (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::value::RawValue;
use terrace_base::untrusted::quoted;
use terrace_base::url;

use super::members::Members;
use super::revision::Revision;
use super::tools::Tool;
use crate::http::problem::Problem;
use crate::mcp::MCP_BODY_BYTES;
use crate::model::name::Hostname;
use crate::model::package::Package;

/// Maximum length of the ID of an MCP request, in bytes: it is repeated in the response. Clients send numbers and UUIDs.
const MCP_ID_BYTES: usize = 128;

/// The mark before a name in Base64.
const MARK: &str = "=?base64?";

/// The mark after a name in Base64.
const END: &str = "?=";

const REVISION: &str = "MCP-Protocol-Version";
const METHOD: &str = "Mcp-Method";
const NAME: &str = "Mcp-Name";

/// The members of the metadata of a request.
const META_REVISION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The headers of an MCP request, as sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct McpHead<'a> {
    /// `MCP-Protocol-Version`
    pub revision: Option<&'a str>,
    /// `Mcp-Method`
    pub method: Option<&'a str>,
    /// `Mcp-Name`
    pub name: Option<&'a str>,
}

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

/// A refused request, with its ID if it could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The ID.
    pub id: Option<RequestId>,
    /// The reason.
    pub error: McpError,
}

/// An error of the protocol. Errors of a tool are results, so that the assistant reads them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// The body is not JSON.
    #[error(
        "the body is not JSON: send one JSON-RPC message, such as {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}"
    )]
    NotJson,
    /// The body is a list.
    #[error(
        "the body is a list: batches are not supported, send each message in a request of its own"
    )]
    Batch,
    /// The body is not a message. Contains the rule.
    #[error("the body is no JSON-RPC request: {0}")]
    NotRequest(&'static str),
    /// A header is missing that this revision requires.
    #[error(
        "the header {0} is missing: this revision requires it beside the same value in the body"
    )]
    HeaderMissing(&'static str),
    /// A header differs from the body. Contains its name, its value and that of the body.
    #[error("the header {name} is {header}, and the body has {body}: both must be the same", header = quoted(.1), body = quoted(.2), name = .0)]
    HeaderMismatch(&'static str, String, String),
    /// The registry does not speak this revision.
    #[error("this registry does not speak revision {revision} of the protocol: use one of those in `supported`", revision = quoted(.0))]
    UnsupportedRevision(String),
    /// The registry has no such method.
    #[error("this registry has no method {method}", method = quoted(.method))]
    UnknownMethod {
        /// The method.
        method: String,
        /// The revision of the request, by which the HTTP status differs.
        revision: Revision,
    },
    /// The parameters are invalid. Contains the rule.
    #[error("the parameters are invalid: {0}")]
    Params(String),
    /// The registry has no such tool.
    #[error("this registry has no tool {tool}: tools/list lists all", tool = quoted(.0))]
    UnknownTool(String),
    /// The registry has no such resource, or the caller may not see it. Contains its URI, the reason and the revision.
    #[error("{1}")]
    NoResource(String, String, Revision),
    /// The page of another website sends the request.
    #[error("the header Origin is {origin}: only pages of this registry may send MCP requests from a browser", origin = quoted(.0))]
    ForeignOrigin(String),
    /// The body is not declared as JSON.
    #[error("the header Content-Type is {content_type}: it must be application/json", content_type = quoted(.0))]
    ContentType(String),
    /// The body is too long.
    #[error("the body is longer than {max} bytes", max = MCP_BODY_BYTES)]
    TooLarge,
    /// The request failed for a reason that other requests fail for as well.
    #[error("{}", .0.messages().join("; "))]
    Problem(Problem),
}

/// The members `data` of errors.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ErrorData<'e> {
    /// Of [`McpError::UnsupportedRevision`].
    Revisions {
        /// The revisions that the registry speaks, the newest first.
        supported: [&'static str; 2],
        /// The requested one.
        requested: &'e str,
    },
    /// Of [`McpError::NoResource`].
    Resource {
        /// The requested URI.
        uri: &'e str,
    },
}

impl McpError {
    /// Returns the code in the message, and the HTTP status. Clients of older revisions read messages from successful responses
    /// only, and know another code for a resource that does not exist.
    pub fn codes(&self) -> (i32, u16) {
        match self {
            Self::NotJson => (-32700, 400),
            Self::Batch | Self::NotRequest(_) => (-32600, 400),
            Self::ForeignOrigin(_) => (-32600, 403),
            Self::ContentType(_) => (-32600, 415),
            Self::TooLarge => (-32600, 413),
            Self::UnknownMethod { revision, .. } if revision.is_stateless() => (-32601, 404),
            Self::UnknownMethod { .. } => (-32601, 200),
            Self::NoResource(_, _, revision) if !revision.is_stateless() => (-32002, 200),
            Self::Params(_) | Self::UnknownTool(_) | Self::NoResource(..) => (-32602, 200),
            Self::HeaderMissing(_) | Self::HeaderMismatch(..) => (-32020, 400),
            Self::UnsupportedRevision(_) => (-32022, 400),
            Self::Problem(problem) if problem.status() >= 500 => (-32603, problem.status()),
            Self::Problem(problem) => (-32600, problem.status()),
        }
    }

    pub(super) fn data(&self) -> Option<ErrorData<'_>> {
        match self {
            Self::UnsupportedRevision(requested) => Some(ErrorData::Revisions {
                supported: Revision::ALL.map(Revision::as_str),
                requested,
            }),
            Self::NoResource(uri, ..) => Some(ErrorData::Resource { uri }),
            _ => None,
        }
    }
}

/// The parameters of all methods.
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
    received(head, members, id.clone()).map_err(|error| Refusal { id, error })
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

fn params(mut members: Members<'_>) -> Result<Params<'_>, McpError> {
    let not_text =
        |_| McpError::Params("a name, a URI, a cursor and a revision must be texts".to_owned());
    let mut meta = object(members.take("_meta"), "_meta")?;
    Ok(Params {
        name: members.text("name").map_err(not_text)?,
        uri: members.text("uri").map_err(not_text)?,
        cursor: members.text("cursor").map_err(not_text)?,
        arguments: members.take("arguments"),
        revision: meta.text(META_REVISION).map_err(not_text)?,
        has_capabilities: meta.take(META_CAPABILITIES).is_some(),
    })
}

fn received(
    head: &McpHead<'_>,
    mut members: Members<'_>,
    id: Option<RequestId>,
) -> Result<Incoming, McpError> {
    let not_text = |_| McpError::NotRequest("its members jsonrpc and method must be texts");
    if members.text("jsonrpc").map_err(not_text)?.as_deref() != Some("2.0") {
        return Err(McpError::NotRequest("its member jsonrpc must be \"2.0\""));
    }
    let method = members.text("method").map_err(not_text)?;
    let params = params(object(members.take("params"), "params")?)?;
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
        "tools/list" => Operation::ListTools,
        "tools/call" => {
            let name = params.name.ok_or_else(|| missing("name"))?;
            let tool = Tool::parse(&name).ok_or(McpError::UnknownTool(name))?;
            let arguments = params.arguments.map(str::to_owned);
            Operation::CallTool(tool, arguments)
        }
        "resources/list" => Operation::ListResources(params.cursor.map(last_package).transpose()?),
        "resources/templates/list" => Operation::ListTemplates,
        "resources/read" => Operation::ReadResource(params.uri.ok_or_else(|| missing("uri"))?),
        method => {
            return Err(McpError::UnknownMethod {
                method: method.to_owned(),
                revision,
            });
        }
    })
}

/// Parses an object in a message; one that is absent or `null` has no members.
fn object<'b>(json: Option<&'b str>, name: &str) -> Result<Members<'b>, McpError> {
    match json {
        None | Some("null") => Ok(Members::default()),
        Some(json) => Members::parse(json.as_bytes()).ok_or_else(|| {
            McpError::Params(format!(
                "{name} must be an object, each member of which is given once"
            ))
        }),
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

/// Checks that a request does not come from a page of another website: a browser states the origin of the page that sends a
/// request. `origin` is that of this registry as the client reached it, `hostnames` are its others.
///
/// # Errors
/// [`McpError::ForeignOrigin`]
pub fn check_origin(
    header: Option<&str>,
    origin: &str,
    hostnames: &[Hostname],
) -> Result<(), McpError> {
    let Some(header) = header else { return Ok(()) };
    let is_configured = |hostname: &Hostname| {
        header.strip_prefix("https://").is_some_and(|authority| {
            url::split_port(authority)
                .0
                .eq_ignore_ascii_case(hostname.as_str())
        })
    };
    if header.eq_ignore_ascii_case(origin) || hostnames.iter().any(is_configured) {
        return Ok(());
    }
    Err(McpError::ForeignOrigin(header.to_owned()))
}

/// Checks that the body of a request is JSON.
///
/// # Errors
/// [`McpError::ContentType`]
pub fn check_content_type(header: Option<&str>) -> Result<(), McpError> {
    let header = header.unwrap_or_default();
    let media_type = header.split(';').next().unwrap_or_default().trim();
    match media_type.eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => Err(McpError::ContentType(header.to_owned())),
    }
}

/// Returns the header `Mcp-Name` for a name, which is in Base64 if no header can hold it.
pub fn mcp_name_header(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let is_trimmed = name.trim() == name;
    let is_marked = name.starts_with(MARK) && name.ends_with(END);
    match is_plain && is_trimmed && !is_marked {
        true => name.to_owned(),
        false => format!("{MARK}{}{END}", STANDARD.encode(name)),
    }
}

/// Returns the value of `Mcp-Name`. A value that no header can hold is in Base64, within marks; `None` if that is invalid.
fn decoded(header: &str) -> Option<String> {
    let encoded = header
        .strip_prefix(MARK)
        .and_then(|rest| rest.strip_suffix(END));
    match encoded {
        None => Some(header.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_another_website_is_refused() {
        let own = ["registry.example.com".parse().unwrap()];
        let check = |header| check_origin(header, "https://terrace.workers.dev", &own).is_ok();
        for allowed in [
            None,
            Some("https://terrace.workers.dev"),
            Some("https://registry.example.com"),
            Some("https://Registry.example.com:8443"),
        ] {
            assert!(check(allowed), "{allowed:?}");
        }
        for foreign in [
            "null",
            "",
            "https://evil.example",
            "http://terrace.workers.dev",
            "http://registry.example.com",
            "https://registry.example.com.evil.example",
            "https://evil.example/registry.example.com",
        ] {
            assert!(!check(Some(foreign)), "{foreign}");
        }
    }

    #[test]
    fn a_body_is_json_by_its_content_type() {
        for json in ["application/json", "Application/JSON; charset=utf-8"] {
            assert_eq!(check_content_type(Some(json)), Ok(()));
        }
        for other in [
            None,
            Some(""),
            Some("text/plain"),
            Some("application/jsonx"),
        ] {
            assert!(check_content_type(other).is_err(), "{other:?}");
        }
    }

    #[test]
    fn a_name_in_base64_is_decoded() {
        for (header, name) in [
            ("get_docs", Some("get_docs")),
            ("=?base64?SGVsbG8sIOS4lueVjA==?=", Some("Hello, 世界")),
            (
                "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
                Some("=?base64?literal?="),
            ),
            ("=?base64?%?=", None),
            ("=?base64?/w==?=", None),
            ("=?base64?SGVsbG8", Some("=?base64?SGVsbG8")),
        ] {
            assert_eq!(decoded(header).as_deref(), name, "{header}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_name_is_decoded_from_the_header_that_it_is_sent_in(name in "(=\\?base64\\?)?\\PC{0,20}(\\?=)?") {
            let header = mcp_name_header(&name);
            proptest::prop_assert!(header.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            proptest::prop_assert_eq!(decoded(&header), Some(name));
        }
    }
}
