//! The server: its threads, their connections, background tasks, and the end of all of them.

mod thread;

use std::io;
use std::io::IsTerminal as _;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use terrace_base::network::Network;
use terrace_core::config::Config;
use tokio::runtime::{Builder, Runtime};
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, watch};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

use crate::host::Shared;
use crate::limits::{BLOCKING_THREADS, RELOAD_INTERVAL, REPLY_BYTES};
use crate::origin::ServedHosts;
use crate::proxy::TrustedProxies;
use crate::shares::Shares;
use crate::stores::{Bucket, IndexStore};
use crate::tls::TlsFiles;
use crate::{log, process};
use thread::{Entrance, Thread};

/// The settings of a server, besides the configuration of the registry.
#[derive(Debug)]
pub struct ServerSettings {
    /// The address to listen at. Port 0 selects a free one.
    pub listen: SocketAddr,
    /// The number of threads; one for each core without it.
    pub threads: Option<NonZeroUsize>,
    /// The certificate for TLS; without it, the server speaks plain HTTP.
    pub tls: Option<TlsFiles>,
    /// The proxies that are trusted in their statements about a client.
    pub trusted_proxies: Vec<Network>,
    /// The time between two looks for the changes of other processes, if the storage may be shared; `None` if this process
    /// is the only one.
    pub look_interval: Option<Duration>,
}

/// A server that listens, and does not accept connections yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    threads: usize,
    shared: Arc<Shared>,
    entrance: Entrance,
    look_interval: Option<Duration>,
    tls: Option<TlsFiles>,
    connections: Arc<Semaphore>,
    stop: watch::Sender<bool>,
}

/// Stops a server.
#[derive(Debug, Clone)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    /// Stops the server, which completes the requests that it has begun.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Listens at the address of the settings.
    ///
    /// # Errors
    /// The system does not allow it, or another program listens there.
    pub fn bind(settings: ServerSettings, config: Config) -> io::Result<Self> {
        let listener = TcpListener::bind(settings.listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let threads = settings.threads.or_else(|| available_parallelism().ok());
        for warning in config.warnings() {
            log::line(&format!("configuration: {warning}"));
        }
        // A process has one configuration, which lives as long as the process.
        let config: &'static Config = Box::leak(Box::new(config));
        let hosts = ServedHosts::new(config.hostnames.clone(), address.ip());
        let connections = process::connections();
        Ok(Self {
            listener,
            address,
            threads: threads.map_or(1, NonZeroUsize::get),
            shared: Arc::new(Shared::new(config, hosts)),
            entrance: Entrance {
                tls: settings.tls.as_ref().map(TlsFiles::tls),
                proxies: TrustedProxies::new(settings.trusted_proxies),
                connections: Shares::new(connections),
                replies: Shares::new(REPLY_BYTES),
            },
            look_interval: settings.look_interval,
            tls: settings.tls,
            connections: Arc::new(Semaphore::new(connections)),
            stop: watch::Sender::new(false),
        })
    }

    /// Returns the address that the server listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns a handle that stops the server.
    pub fn stop(&self) -> Stop {
        Stop(self.stop.clone())
    }

    /// Answers requests until the server is [stopped](Self::stop), or by SIGTERM or SIGINT. Then it accepts no further
    /// connections, and completes the requests that it has begun, and the work after their responses. A second signal ends the
    /// process at once.
    ///
    /// # Errors
    /// A thread could not be started, or has failed.
    pub fn run<B, I>(self, bucket: B, indices: I) -> io::Result<()>
    where
        B: Bucket + Send,
        I: IndexStore + Send,
    {
        let runtime = new_runtime()?;
        // Before the first request: a signal without a handler would interrupt it.
        let signals = {
            let _entered = runtime.enter();
            Signals::new()?
        };
        let mut threads = Vec::new();
        for number in 1..self.threads {
            let thread = self.thread(bucket.clone(), indices.clone())?;
            let runtime = new_runtime()?;
            let name = format!("terrace-{number}");
            let thread = std::thread::Builder::new()
                .name(name)
                .spawn(move || thread(runtime, None));
            threads.push(thread?);
        }
        let first = self.thread(bucket, indices)?;
        // The socket is closed when the last thread has stopped to accept.
        drop(self.listener);
        let first = first(runtime, Some((signals, self.tls)));
        for thread in threads {
            let ended = thread.join();
            ended.map_err(|_| io::Error::other("a thread of the server has panicked"))??;
        }
        first
    }

    /// Returns the work of a thread to its end. With signals, it is the first thread, which also runs the periodic tasks.
    fn thread<B: Bucket, I: IndexStore>(
        &self,
        bucket: B,
        indices: I,
    ) -> io::Result<impl FnOnce(Runtime, Option<FirstThread>) -> io::Result<()> + use<B, I>> {
        let listener = self.listener.try_clone()?;
        let (shared, entrance) = (Arc::clone(&self.shared), self.entrance.clone());
        let (connections, stop) = (Arc::clone(&self.connections), self.stop.clone());
        let look_interval = self.look_interval.filter(|_| bucket.is_shared());
        Ok(move |runtime: Runtime, first: Option<FirstThread>| {
            let _others_end_too = StopAtEnd(stop.clone());
            let stopping = stop.subscribe();
            LocalSet::new().block_on(&runtime, async move {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                let thread = Thread::new(shared, entrance, bucket, indices);
                if let Some((signals, tls)) = first {
                    spawn_local(signals.obey(tls, stop));
                    thread.repair_regularly(stopping.clone());
                    if let Some(interval) = look_interval {
                        thread.look_regularly(interval, stopping.clone());
                    }
                }
                thread.accept(listener, connections, stopping).await;
                Ok(())
            })
        })
    }
}

/// The signals to obey, and the certificate to renew.
type FirstThread = (Signals, Option<TlsFiles>);

/// Stops the server when a thread ends, also by a panic.
struct StopAtEnd(watch::Sender<bool>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

fn new_runtime() -> io::Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .build()
}

/// The signals that a process receives.
struct Signals {
    #[cfg(unix)]
    terminate: Signal,
    #[cfg(unix)]
    interrupt: Signal,
    #[cfg(unix)]
    hangup: Signal,
}

/// A signal to the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Received {
    /// It asks for the end.
    End,
    /// It asks to read the certificate again, or tells that the terminal is closed.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has it"))]
    Hangup,
}

impl Signals {
    #[cfg(unix)]
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    #[cfg(unix)]
    async fn next(&mut self) -> Received {
        tokio::select! {
            _ = self.terminate.recv() => Received::End,
            _ = self.interrupt.recv() => Received::End,
            _ = self.hangup.recv() => Received::Hangup,
        }
    }

    #[cfg(not(unix))]
    fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn next(&mut self) -> Received {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Received::End
    }

    /// Reads the certificate again each minute and at SIGHUP, which ends a server in a terminal. Stops the server at the first signal
    /// that asks for it, and ends the process at the second.
    async fn obey(mut self, mut tls: Option<TlsFiles>, stop: watch::Sender<bool>) {
        loop {
            let received = tokio::select! {
                received = self.next() => Some(received),
                () = sleep(RELOAD_INTERVAL) => None,
            };
            if received == Some(Received::End) || received.is_some() && io::stderr().is_terminal() {
                break;
            }
            reload(tls.as_mut(), received.is_some());
        }
        log::line("server: stopping; a second signal ends it at once");
        stop.send_replace(true);
        while self.next().await == Received::Hangup {}
        log::line("server: ended by a second signal");
        std::process::exit(ENDED_BY_SIGNAL);
    }
}

/// Uses a changed certificate. An operator who has asked is told if there is none.
fn reload(tls: Option<&mut TlsFiles>, is_asked: bool) {
    match tls.map_or(Ok(false), TlsFiles::read_again) {
        Ok(true) => log::line("server: the changed certificate is in use"),
        Ok(false) if is_asked => {
            log::line("server: no certificate has changed; changed settings need a restart");
        }
        Ok(false) => {}
        Err(error) => log::line(&format!(
            "server: {error}; the earlier certificate stays in use"
        )),
    }
}

/// The exit code of a process that Ctrl-C ends (128 + SIGINT).
const ENDED_BY_SIGNAL: i32 = 130;

#[cfg(test)]
mod tests;
