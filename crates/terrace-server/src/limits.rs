//! The limits of this host, each with its reason. Those of the registry are in [`terrace_core::limits`].

use std::time::Duration;

/// Maximum size of the head of a request, in bytes: a token has at most [`terrace_core::limits::TOKEN_BYTES`], and the
/// cookies of a browser, of which the registry sets one, may have 4 KB each.
pub const HEAD_BYTES: usize = 64 * 1024;

/// Maximum number of headers of a request. Browsers behind several proxies send about 40.
pub const HEADERS: usize = 100;

/// Maximum time for the head of a request, which includes the time that a connection may be idle before it: longer than most
/// proxies keep theirs, because a connection that closes at the moment of a request costs the client a retry.
pub const HEAD_TIME: Duration = Duration::from_secs(75);

/// Maximum time for the handshake of TLS: a few round trips, of which each takes up to a second.
pub const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// How long a client may send no byte of a body that the registry waits for.
pub const BODY_STALL: Duration = Duration::from_secs(30);

/// How long a client may accept no byte of a response. A proxy may stop reading while its own client is slow.
pub const WRITE_STALL: Duration = Duration::from_secs(120);

/// Maximum time for which a connection that ends still accepts bytes, so that a client that sends a refused body reads the
/// response.
pub const LINGER: Duration = Duration::from_secs(5);

/// Maximum number of connections at once. Each may need two files: a system that allows a process fewer files
/// (`LimitNOFILE` in systemd, `ulimit -Hn`) allows it fewer connections.
pub const CONNECTIONS: usize = 4_096;

/// Number of open files that connections leave to everything else.
pub const OTHER_FILES: usize = 128;

/// Maximum size of all replies that wait in memory until their clients accept them, in bytes. Archives are streams.
pub const REPLY_BYTES: usize = 128 * 1024 * 1024;

/// Size up to which a reply does not count as such, in bytes: the system's buffers accept it.
pub const SMALL_REPLY_BYTES: usize = 64 * 1024;

/// Time that running requests have to complete after the server was told to stop: less than the 30 seconds after which
/// Kubernetes kills a container, and the 90 of systemd.
pub const GRACE: Duration = Duration::from_secs(25);

/// Pause after the system refused to accept a connection, such as for lack of file descriptors.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Minimum time between two lines of the log about connections that were refused.
pub const REFUSAL_LOG_TIME: Duration = Duration::from_secs(1);

/// Time between two steps of the periodic repair: that of the Worker's cron trigger.
pub const REPAIR_INTERVAL: Duration = Duration::from_secs(60);

/// Time between two looks for a changed certificate: a renewed certificate has days left.
pub const RELOAD_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum number of threads per core thread for operations that block, such as those on files. A disk serves few at once.
pub const BLOCKING_THREADS: usize = 16;

/// Maximum time to connect to one address of another server, TLS not included.
pub const CONNECT_TIME: Duration = Duration::from_secs(5);

/// How far storage may lag behind the source of a fork, in bytes.
pub const STORAGE_LAG_BYTES: u32 = 1024 * 1024;

/// Maximum time to connect to an object store.
pub const STORE_CONNECT_TIME: Duration = Duration::from_secs(5);

/// How long an object store may send nothing while the registry waits for its bytes.
pub const STORE_STALL: Duration = Duration::from_secs(30);

/// How long a request to an object store is repeated after failures: a client waits for it.
pub const STORE_REPEAT_TIME: Duration = Duration::from_secs(15);

/// Number of threads for the connections to an object store: each carries several gigabits a second with TLS.
pub const STORE_THREADS: usize = 2;

/// Maximum number of requests for the metadata of the objects of one list at once: a list has up to a thousand.
pub const METADATA_REQUESTS: usize = 32;

/// Maximum bytes of an object's metadata, names included
/// (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html>). Other stores accept more.
pub const METADATA_BYTES: usize = 2 * 1024;
