//! The Model Context Protocol: assistants and editors read the contents of the API and the pages.
//!
//! No handler here decides which contents a caller may see. Tools call the functions that answer the API and draw the
//! pages.

mod documents;
pub(crate) mod metadata;
mod shared;
mod tools;

use terrace_core::api::route::McpScope;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::mcp::reply::{Answered, accepted, problem_reply as refused_by_pipeline, refused};
use terrace_core::mcp::{
    Incoming, MCP_BODY_BYTES, McpError, McpHead, McpRequest, Operation, Refusal,
    check_content_type, check_origin, receive,
};

use crate::context::Context;
use crate::host::{Host, Request};
use crate::outcome::{Call, Handled};

/// Answers a message to an endpoint.
pub(crate) async fn endpoint<P: Host, R: Request<Stream = P::Stream>>(
    ctx: &Context<'_, P>,
    call: Call,
    mut request: R,
) -> Handled<P::Stream> {
    let reply = match message(ctx, &mut request).await {
        Err(refusal) => refused(&refusal),
        Ok(Incoming::Notification) => accepted(),
        Ok(Incoming::Request(request)) => answer(ctx, &call, request).await,
    };
    Ok(reply.into())
}

/// Reads the message.
async fn message<P: Host, R: Request>(
    ctx: &Context<'_, P>,
    request: &mut R,
) -> Result<Incoming, Refusal> {
    let unread = |error| Refusal { id: None, error };
    let header = |name| request.header(name);
    let origin = header("origin");
    check_origin(origin.as_deref(), request.origin(), &ctx.config.hostnames).map_err(unread)?;
    check_content_type(header("content-type").as_deref()).map_err(unread)?;
    let (revision, method, name) = (
        header("mcp-protocol-version"),
        header("mcp-method"),
        header("mcp-name"),
    );
    let most = MCP_BODY_BYTES;
    let declared = header("content-length").and_then(|length| length.parse::<u64>().ok());
    if declared.is_some_and(|length| length > most) {
        return Err(unread(McpError::TooLarge));
    }
    let body = request.bytes_up_to(most).await;
    let body = body.map_err(|_| unread(McpError::NotJson))?;
    if body.len() as u64 > most {
        return Err(unread(McpError::TooLarge));
    }
    let head = McpHead {
        revision: revision.as_deref(),
        method: method.as_deref(),
        name: name.as_deref(),
    };
    receive(&head, &body)
}

async fn answer<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    request: McpRequest,
) -> Reply<P::Stream> {
    let McpRequest {
        id,
        revision,
        operation,
    } = request;
    let to = Answered { id, revision };
    match operation {
        Operation::Initialize => to.initialized(),
        Operation::Discover => to.discovered(),
        Operation::Ping => to.pong(),
        Operation::ListTools => to.tools(),
        Operation::ListTemplates => to.templates(),
        Operation::ListResources(cursor) => documents::list(ctx, call, &to, cursor).await,
        Operation::ReadResource(uri) => documents::read(ctx, call, &to, uri).await,
        Operation::CallTool(tool, arguments) => {
            tools::call(ctx, call, &to, tool, arguments.as_deref()).await
        }
    }
}

/// Answers a request that the pipeline refuses.
pub(crate) fn problem_reply<S>(origin: &str, path: &str, problem: Problem) -> Reply<S> {
    let scope = McpScope::at(path).unwrap_or(McpScope::Visible);
    let metadata = format!("{origin}{}", scope.metadata_path());
    refused_by_pipeline(problem, &metadata)
}
