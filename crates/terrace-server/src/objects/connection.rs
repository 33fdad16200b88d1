//! The object store that a URL names, and the client that reaches it.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::SpawnedReqwestConnector;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::prefix::PrefixStore;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};
use terrace_presign::Presigner;
use tokio::runtime::{Builder, Handle, Runtime};

use super::s3;
use super::store_url::{Kind, StoreUrl};
use crate::limits::{STORE_CONNECT_TIME, STORE_REPEAT_TIME, STORE_STALL, STORE_THREADS};

/// The settings of the client that the environment can change.
const CLIENT_SETTINGS: [ClientConfigKey; 5] = [
    ClientConfigKey::AllowHttp,
    ClientConfigKey::AllowInvalidCertificates,
    ClientConfigKey::ProxyUrl,
    ClientConfigKey::ProxyCaCertificate,
    ClientConfigKey::ProxyExcludes,
];

/// An object store, and how it is reached.
#[derive(Debug)]
pub struct Connection {
    /// Repeats requests that fail.
    pub(super) store: Arc<dyn ObjectStore>,
    /// Sends each request once. A conditional write that was repeated after it took effect would find its own object, and
    /// report that another writer was faster.
    pub(super) once: Arc<dyn ObjectStore>,
    /// The store, for messages.
    pub(super) name: String,
    pub(super) presigner: Option<Presigner>,
    pub(super) io: Option<IoThreads>,
}

/// The threads that carry the requests to the store. A connection outlives the thread of the server that has opened it, and
/// does not wait while that thread computes.
#[derive(Debug)]
pub(super) struct IoThreads(Option<Runtime>);

impl IoThreads {
    fn start() -> std::io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(STORE_THREADS)
            .thread_name("terrace-store")
            .enable_all()
            .build()?;
        Ok(Self(Some(runtime)))
    }

    pub(super) fn handle(&self) -> Option<&Handle> {
        self.0.as_ref().map(Runtime::handle)
    }
}

impl Drop for IoThreads {
    fn drop(&mut self) {
        // The last owner may be a task, which must not wait for threads.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
impl From<Arc<dyn ObjectStore>> for Connection {
    fn from(store: Arc<dyn ObjectStore>) -> Self {
        Self {
            name: store.to_string(),
            once: Arc::clone(&store),
            store,
            presigner: None,
            io: None,
        }
    }
}

impl Connection {
    /// Prepares the client of the store at this URL. Credentials and an endpoint come from the environment: `AWS_…`,
    /// `GOOGLE_…` or `AZURE_…`.
    ///
    /// # Errors
    /// If the URL is of no known kind, or the environment lacks a setting. The store is not contacted.
    pub fn to(url: &str) -> Result<Self, String> {
        let url: StoreUrl = url.parse()?;
        // The client of a store finds the provider of its cryptography here. Another one may be installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let io = IoThreads::start()
            .map_err(|error| format!("the threads of the client cannot be started: {error}"))?;
        let clients = Clients { io: &io, url: &url };
        let (stores, presigner) = match url.kind {
            Kind::S3 => {
                let builder = AmazonS3Builder::from_env();
                s3::check_endpoint(&builder)?;
                let presigner = s3::presigner(&builder, &url.bucket, &url.prefix);
                (clients.s3(builder)?, presigner)
            }
            Kind::Google => (clients.gcs()?, None),
            Kind::Azure => (clients.azure()?, None),
        };
        let [store, once] = stores;
        Ok(Self {
            store,
            once,
            name: url.to_string(),
            presigner,
            io: Some(io),
        })
    }

    /// Returns the signer of URLs that the store serves itself: that of S3, with keys that do not expire.
    pub fn presigner(&self) -> Option<&Presigner> {
        self.presigner.as_ref()
    }
}

/// Makes the two clients of a store.
struct Clients<'a> {
    io: &'a IoThreads,
    url: &'a StoreUrl,
}

/// Calls the methods that the builders of all stores have, without a trait of their own.
macro_rules! both {
    ($clients:expr, $builder:expr, $with_name:ident, $client_key:path, $environment:literal) => {{
        let builder = $builder.$with_name(&$clients.url.bucket);
        let mut options = client_options();
        for setting in CLIENT_SETTINGS {
            if let Some(value) = builder.get_config_value(&$client_key(setting)) {
                options = options.with_config(setting, value);
            }
        }
        let build = |retry: RetryConfig| {
            let mut builder = builder
                .clone()
                .with_client_options(options.clone())
                .with_retry(retry);
            if let Some(handle) = $clients.io.handle() {
                builder = builder.with_http_connector(SpawnedReqwestConnector::new(handle.clone()));
            }
            let store = builder.build();
            let store =
                store.map_err(|error| format!("{}: {error}; {}", $clients.url, $environment))?;
            Ok::<_, String>($clients.below_prefix(store))
        };
        Ok([build(repeating())?, build(once())?])
    }};
}

impl Clients<'_> {
    fn s3(&self, builder: AmazonS3Builder) -> Result<[Arc<dyn ObjectStore>; 2], String> {
        both!(
            self,
            builder,
            with_bucket_name,
            AmazonS3ConfigKey::Client,
            "see the variables AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL"
        )
    }

    fn gcs(&self) -> Result<[Arc<dyn ObjectStore>; 2], String> {
        both!(
            self,
            GoogleCloudStorageBuilder::from_env(),
            with_bucket_name,
            GoogleConfigKey::Client,
            "see the variable GOOGLE_SERVICE_ACCOUNT"
        )
    }

    fn azure(&self) -> Result<[Arc<dyn ObjectStore>; 2], String> {
        both!(
            self,
            MicrosoftAzureBuilder::from_env(),
            with_container_name,
            AzureConfigKey::Client,
            "see the variables AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"
        )
    }

    fn below_prefix(&self, store: impl ObjectStore) -> Arc<dyn ObjectStore> {
        match self.url.prefix.as_ref() {
            "" => Arc::new(store),
            _ => Arc::new(PrefixStore::new(store, self.url.prefix.clone())),
        }
    }
}

/// Returns the client's settings. There is no limit for a whole request: a slow client may take long for an archive.
fn client_options() -> ClientOptions {
    ClientOptions::new()
        .with_timeout_disabled()
        .with_connect_timeout(STORE_CONNECT_TIME)
        .with_read_timeout(STORE_STALL)
}

fn repeating() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(2),
            base: 2.,
        },
        max_retries: 5,
        retry_timeout: STORE_REPEAT_TIME,
    }
}

fn once() -> RetryConfig {
    RetryConfig {
        max_retries: 0,
        ..repeating()
    }
}
