//! Responses, as hyper sends them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::StatusCode;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{HeaderName, HeaderValue};
use terrace_core::http::reply;
use terrace_core::http::reply::Reply;

use crate::stream::ByteStream;

/// The body of a response.
pub(crate) enum ReplyBody {
    /// No further bytes.
    Empty,
    /// A text or bytes, sent at once.
    Text(Bytes),
    /// A stream, of which hyper asks for the next chunk when the client has accepted the last one.
    Stream(ByteStream),
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Self::Empty => Poll::Ready(None),
            Self::Text(text) => {
                let text = std::mem::take(text);
                *self = Self::Empty;
                Poll::Ready(Some(Ok(Frame::data(text))))
            }
            Self::Stream(stream) => {
                let chunk = stream.as_mut().poll_next(context);
                chunk.map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Text(text) => SizeHint::with_exact(text.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// Converts a reply into a response. Its headers are exactly those of the reply, and `Date`.
pub(crate) fn respond(reply: Reply<ByteStream>) -> hyper::Response<ReplyBody> {
    let body = match reply.body {
        reply::Body::Empty => ReplyBody::Empty,
        reply::Body::Text(text) if text.is_empty() => ReplyBody::Empty,
        reply::Body::Text(text) => ReplyBody::Text(text.into()),
        reply::Body::Bytes(bytes) => ReplyBody::Text(bytes.into()),
        reply::Body::Stream(stream) => ReplyBody::Stream(stream),
    };
    let mut response = hyper::Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in reply.headers {
        // The core creates no other values.
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            response
                .headers_mut()
                .insert(HeaderName::from_static(name), value);
        }
    }
    response
}
