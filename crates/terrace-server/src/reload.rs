//! Settings and certificates that are read again while the server runs.

use std::fmt::Debug;
use std::sync::Arc;

use terrace_core::config::Config;

use crate::host::Shared;
use crate::log;
use crate::tls::ServerTls;

/// The settings of a server that may change while it runs.
#[derive(Debug)]
pub struct Reloaded {
    /// The configuration of the registry.
    pub config: Config,
    /// The certificate for TLS. A server without one never gets one.
    pub tls: Option<ServerTls>,
}

/// The source of the settings of a server.
pub trait SettingsSource: Debug + Send {
    /// Reads the settings again; `None` if they are those of the last time.
    ///
    /// # Errors
    /// The reason why they cannot be used.
    fn read_again(&mut self) -> Result<Option<Reloaded>, String>;
}

/// Applies the settings of a source to a server that runs.
#[derive(Debug)]
pub(crate) struct Reloader {
    source: Box<dyn SettingsSource>,
    shared: Arc<Shared>,
    tls: Option<ServerTls>,
}

impl Reloader {
    pub(crate) fn new(
        source: Box<dyn SettingsSource>,
        shared: Arc<Shared>,
        tls: Option<ServerTls>,
    ) -> Self {
        Self {
            source,
            shared,
            tls,
        }
    }

    /// Applies the settings of the source, or leaves the earlier ones in use if they cannot be used. The log tells what has
    /// changed; to an operator who has asked, also that nothing has.
    pub(crate) fn reload(&mut self, is_asked: bool) {
        match self.source.read_again() {
            Ok(Some(Reloaded { config, tls })) => {
                log_warnings(&config);
                self.shared.configure(config);
                if let (Some(current), Some(new)) = (&self.tls, &tls) {
                    current.replace(new);
                }
                log::line("server: the changed settings and certificate are in use");
            }
            Ok(None) if is_asked => log::line("server: no setting and no certificate has changed"),
            Ok(None) => {}
            Err(error) => log::line(&format!(
                "server: {error}; the earlier settings and certificate stay in use"
            )),
        }
    }
}

/// Logs the faults of a configuration that the registry runs with.
pub(crate) fn log_warnings(config: &Config) {
    for warning in config.faults().into_iter().chain(config.warnings()) {
        log::line(&format!("configuration: {warning}"));
    }
}
