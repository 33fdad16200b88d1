//! The settings and the certificate of a registry that this machine serves, read again while it runs.

use std::path::Path;
use std::{fmt, fs};

use terrace_commands::{Failure, ServeArguments, settings};
use terrace_core::config::ADMIN_TOKEN;
use terrace_presign::Presigner;
use terrace_server::reload::{Reloaded, SettingsSource};
use terrace_server::tls::ServerTls;

use super::configuration;

/// The files that the arguments name, as they were last read.
pub(super) struct Source {
    arguments: ServeArguments,
    presigner: Option<Presigner>,
    /// The admin token of the start, which the settings may lack.
    admin_token: Option<(String, String)>,
    settings: Vec<(String, String)>,
    pem: Option<Pem>,
}

/// A certificate and its key, in PEM.
#[derive(PartialEq, Eq)]
pub(super) struct Pem {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Pem {
    /// Reads the files of the certificate and its key, if the arguments name them.
    pub(super) fn read(arguments: &ServeArguments) -> Result<Option<Self>, Failure> {
        let files = arguments.tls_cert.as_ref().zip(arguments.tls_key.as_ref());
        let Some((certificate, key)) = files else {
            return Ok(None);
        };
        let read = |file: &Path| {
            let bytes = fs::read(file);
            bytes.map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))
        };
        Ok(Some(Self {
            certificate: read(certificate)?,
            key: read(key)?,
        }))
    }

    pub(super) fn tls(&self) -> Result<ServerTls, Failure> {
        let tls = ServerTls::from_pem(&self.certificate, &self.key);
        tls.map_err(|error| Failure::Usage(error.to_string()))
    }
}

impl Source {
    /// Creates the source of these settings, as the start has read them.
    pub(super) fn new(
        arguments: ServeArguments,
        presigner: Option<Presigner>,
        settings: Vec<(String, String)>,
        pem: Option<Pem>,
    ) -> Self {
        let admin_token = settings.iter().find(|it| is_admin_token(it)).cloned();
        Self {
            arguments,
            presigner,
            admin_token,
            settings,
            pem,
        }
    }

    fn changed(&mut self) -> Result<Option<Reloaded>, Failure> {
        let mut settings = settings(&self.arguments)?;
        if !settings.iter().any(is_admin_token) {
            settings.retain(|(name, _)| name != ADMIN_TOKEN);
            settings.extend(self.admin_token.clone());
        }
        let pem = Pem::read(&self.arguments)?;
        if settings == self.settings && pem == self.pem {
            return Ok(None);
        }
        // What cannot be used is reported once.
        (self.settings, self.pem) = (settings, pem);
        Ok(Some(Reloaded {
            config: configuration(&self.settings, self.presigner.as_ref())?,
            tls: self.pem.as_ref().map(Pem::tls).transpose()?,
        }))
    }
}

fn is_admin_token((name, value): &(String, String)) -> bool {
    name == ADMIN_TOKEN && !value.is_empty()
}

impl SettingsSource for Source {
    fn read_again(&mut self) -> Result<Option<Reloaded>, String> {
        self.changed().map_err(|failure| failure.to_string())
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Source")
    }
}
