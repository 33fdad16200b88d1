//! One thread of the server, and the requests of its connections.

use std::convert::Infallible;
use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use hyper::body::Incoming as IncomingBody;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use terrace_app::cache::Cache;
use terrace_app::context::{Context, Task};
use terrace_app::host::Request as _;
use terrace_app::{perform, pipeline};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::spawn_local;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};

use crate::host::{NativeHost, Shared};
use crate::incoming::{Incoming, Peer};
use crate::limits::{
    ACCEPT_PAUSE, GRACE, HEAD_BYTES, HEAD_TIME, HEADERS, REFUSAL_LOG_TIME, REPAIR_INTERVAL,
    WRITE_STALL,
};
use crate::log;
use crate::outgoing::{ReplyBody, respond};
use crate::proxy::TrustedProxies;
use crate::shares::Shares;
use crate::socket::Watched;
use crate::stores::{Bucket, IndexStore};
use crate::stream::ByteStream;
use crate::tls::ServerTls;

/// The way in which clients come in.
#[derive(Debug, Clone)]
pub(super) struct Entrance {
    pub(super) tls: Option<ServerTls>,
    pub(super) proxies: TrustedProxies,
    /// The connections.
    pub(super) connections: Arc<Shares>,
    /// The bytes of replies that wait in memory.
    pub(super) replies: Arc<Shares>,
}

impl Entrance {
    /// Returns the address to which a connection or a reply counts; `None` for that of a proxy, which has many clients.
    fn counted(&self, address: IpAddr) -> Option<IpAddr> {
        (!self.proxies.include(address)).then_some(address)
    }
}

/// A thread: what its requests share.
pub(super) struct Thread<B, I> {
    shared: Arc<Shared>,
    entrance: Entrance,
    bucket: B,
    indices: I,
    /// The memory of the thread, like that of an isolate.
    cache: Rc<Cache>,
    /// Each connection, and each piece of work that outlives it, holds a receiver until it ends.
    work: watch::Sender<()>,
}

impl<B: Bucket, I: IndexStore> Thread<B, I> {
    pub(super) fn new(shared: Arc<Shared>, entrance: Entrance, bucket: B, indices: I) -> Rc<Self> {
        Rc::new(Self {
            shared,
            entrance,
            bucket,
            indices,
            cache: Rc::new(Cache::without_absences()),
            work: watch::Sender::new(()),
        })
    }

    /// Accepts connections until the server stops, and then completes its work.
    pub(super) async fn accept(
        self: &Rc<Self>,
        listener: TcpListener,
        connections: Arc<Semaphore>,
        mut stopping: watch::Receiver<bool>,
    ) {
        let mut logged: Option<Instant> = None;
        let mut refuse = |reason: &str| {
            if logged.is_none_or(|at| at.elapsed() >= REFUSAL_LOG_TIME) {
                log::line(&format!("server: a connection was not accepted: {reason}"));
                logged = Some(Instant::now());
            }
        };
        loop {
            let accepted = async {
                // The semaphore is never closed.
                let permit = Arc::clone(&connections).acquire_owned().await.ok();
                (permit, listener.accept().await)
            };
            let (permit, accepted) = tokio::select! {
                accepted = accepted => accepted,
                _ = stopping.wait_for(|is_stopping| *is_stopping) => break,
            };
            match accepted {
                Ok((stream, address)) => {
                    let counted = self.entrance.counted(address.ip());
                    let Some(share) = self.entrance.connections.take(counted, 1) else {
                        refuse(&format!("{} has half of all connections", address.ip()));
                        continue;
                    };
                    let (thread, stopping) = (Rc::clone(self), stopping.clone());
                    let piece = self.work.subscribe();
                    spawn_local(async move {
                        let _held = (piece, permit, share);
                        thread.enter(stream, address.ip(), stopping).await;
                    });
                }
                Err(error) => {
                    refuse(&error.to_string());
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        // No client waits for the answer of a server that has stopped to listen.
        drop(listener);
        if timeout(GRACE, self.work.closed()).await.is_err() {
            log::line(&format!(
                "server: stopped with {} connections or tasks under way after {} seconds",
                self.work.receiver_count(),
                GRACE.as_secs()
            ));
        }
    }

    /// Serves a connection, over TLS if the server has a certificate.
    async fn enter(
        self: Rc<Self>,
        stream: TcpStream,
        address: IpAddr,
        stopping: watch::Receiver<bool>,
    ) {
        // A response must not wait for the acknowledgement of the one before. Without the option it is only slower.
        let _ = stream.set_nodelay(true);
        let is_secure = self.entrance.tls.is_some();
        let peer = Peer { address, is_secure };
        match self.entrance.tls.clone() {
            None => self.serve(stream, peer, stopping).await,
            Some(tls) => {
                // A client that does not trust the certificate, or sends no TLS, is no event for the operator.
                if let Ok(stream) = tls.accept(stream).await {
                    self.serve(stream, peer, stopping).await;
                }
            }
        }
    }

    /// Answers the requests of a connection until it ends, or the server stops.
    async fn serve<S>(self: Rc<Self>, stream: S, peer: Peer, mut stopping: watch::Receiver<bool>)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let service = service_fn(move |request| {
            let thread = Rc::clone(&self);
            async move { Ok::<_, Infallible>(thread.respond(request, peer).await) }
        });
        let io = TokioIo::new(Watched::new(stream, WRITE_STALL));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(HEAD_BYTES)
            .max_headers(HEADERS)
            .serve_connection(io, service);
        let mut connection = pin!(connection);
        tokio::select! {
            // A client that disconnects, or sends no HTTP, is no event for the operator.
            _ = connection.as_mut() => return,
            _ = stopping.wait_for(|is_stopping| *is_stopping) => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }

    /// Answers a request.
    async fn respond(
        self: Rc<Self>,
        request: hyper::Request<IncomingBody>,
        peer: Peer,
    ) -> hyper::Response<ReplyBody> {
        let (client, reply) = match Incoming::new(request, peer, &self.entrance.proxies) {
            Ok(request) => (request.address, Rc::clone(&self).answer(request).await),
            Err(error) => {
                log::line(&format!("request: {error}; from {:?}", peer.address));
                (peer.address, Problem::BadRequest(error.to_string()).reply())
            }
        };
        let counted = self.entrance.counted(client);
        respond(reply, &|bytes| self.entrance.replies.take(counted, bytes))
    }

    async fn answer(self: Rc<Self>, request: Incoming) -> Reply<ByteStream> {
        let config = Some(self.shared.config);
        let reply = if pipeline::outlives_its_client(config, request.method(), request.path()) {
            let piece = self.work.subscribe();
            let carried_through = spawn_local(async move {
                let _held = piece;
                unless_panicked(self.handle(request)).await
            });
            carried_through.await.ok().flatten()
        } else {
            unless_panicked(self.handle(request)).await
        };
        reply.unwrap_or_else(|| {
            Problem::Unavailable(
                "the registry failed: send the same request again, and see its log for the reason"
                    .to_owned(),
            )
            .reply()
        })
    }

    /// Answers a request, and begins the work after its response.
    async fn handle(self: Rc<Self>, request: Incoming) -> Reply<ByteStream> {
        let ctx = self.context(request.client_address());
        let reply = pipeline::handle(&ctx, request).await;
        let tasks = ctx.take_tasks();
        if !tasks.is_empty() {
            let piece = self.work.subscribe();
            spawn_local(async move {
                let _held = piece;
                perform(&ctx, tasks).await;
            });
        }
        reply
    }

    fn context(&self, client_address: String) -> Context<'static, NativeHost<B, I>> {
        let host = NativeHost::new(
            Arc::clone(&self.shared),
            Rc::clone(&self.cache),
            self.bucket.clone(),
            self.indices.clone(),
        );
        Context::new(self.shared.config, host, client_address)
    }

    /// Runs a step of the periodic repair each minute until the server stops.
    pub(super) fn repair_regularly(self: &Rc<Self>, stopping: watch::Receiver<bool>) {
        let thread = Rc::clone(self);
        let first = Instant::now() + REPAIR_INTERVAL;
        self.repeat(first, REPAIR_INTERVAL, stopping, async move || {
            terrace_app::run_job(&thread.context(String::new())).await;
        });
    }

    /// Looks for the changes of other processes regularly, at once for the first time, until the server stops.
    pub(super) fn look_regularly(
        self: &Rc<Self>,
        interval: Duration,
        stopping: watch::Receiver<bool>,
    ) {
        let thread = Rc::clone(self);
        self.repeat(Instant::now(), interval, stopping, async move || {
            if let Err(error) = thread.bucket.look().await {
                log::line(&format!(
                    "storage: {error}; changes of other processes are not seen until the next attempt in {} seconds",
                    interval.as_secs()
                ));
            }
            // The catalogue of all owners has an index for many changes, which is replaced and not removed.
            perform(&thread.context(String::new()), vec![Task::MergeCatalogIfDue]).await;
        });
    }

    /// Repeats work until the server stops. Work that has begun is completed.
    fn repeat(
        &self,
        first: Instant,
        interval: Duration,
        mut stopping: watch::Receiver<bool>,
        mut work: impl AsyncFnMut() + 'static,
    ) {
        let begun = self.work.clone();
        spawn_local(async move {
            let mut ticks = interval_at(first, interval);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    _ = ticks.tick() => {}
                    _ = stopping.wait_for(|is_stopping| *is_stopping) => return,
                }
                let _piece = begun.subscribe();
                // The next time does the rest.
                unless_panicked(work()).await;
            }
        });
    }
}

/// Completes a future, or returns `None` if it panics, in a build that unwinds: the panic hook has printed the reason.
///
/// The state that requests share stays usable: a value that a panicking request was changing is replaced as a whole or not at
/// all, and the conditions of writes protect the stores.
async fn unless_panicked<T>(future: impl Future<Output = T>) -> Option<T> {
    AssertUnwindSafe(future).catch_unwind().await.ok()
}
