//! Requests to other registries: redirects that the guard checks, retries, tokens, and downloads.

mod download;
mod host_override;
pub(crate) mod module_list;
pub(crate) mod module_location;
pub(crate) mod module_package;
pub(crate) mod module_registry;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Read as _};
use std::time::Duration;

use terrace_base::digest::Sha256;
use terrace_core::api::admin::PackageBody;
use terrace_core::http::guard::{Guard, GuardError, UrlParts};
use terrace_core::limits;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::name::Hostname;
use terrace_core::model::platform::Platform;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::{
    Fetch, Fetched, OriginError, OriginPackage, PackageInquiry, Service,
};
use ureq::http::{Request, Response, Uri};
use ureq::{Agent, Body};
use url::Url;

pub(crate) use host_override::HostOverride;

use crate::archive::{Archive, Source};
use crate::credentials::{Credentials, Token};
use crate::error::Failure;
use crate::http::{BaseUrl, Retries};
use crate::output::secrets::CLIENT_TOKENS;
use crate::output::{Output, bytes};
pub(crate) use crate::upstream::download::{DownloadError, download};
use crate::upstream::module_location::LOCATION_HEADER;
use crate::{clock, http, parallel};

/// How much is read of a response that denies access, for its reason, in bytes.
const REFUSAL_BYTES: u64 = 1_024;

/// The maximum number of parallel requests to a registry.
pub(crate) const PARALLEL_REQUESTS: usize = 4;

/// A client of other registries.
pub(crate) struct Upstream<'a> {
    agent: Agent,
    guard: Guard,
    overrides: BTreeMap<Hostname, HostOverride>,
    credentials: Credentials,
    retries: u32,
    output: &'a Output,
}

/// The failure of one attempt.
pub(crate) struct AttemptError {
    pub(crate) failure: Failure,
    pub(crate) is_transient: bool,
    /// The pause that the server requests.
    pub(crate) retry_after: Option<Duration>,
}

impl AttemptError {
    /// Creates an error that a retry would repeat.
    pub(crate) fn permanent(failure: Failure) -> Self {
        Self {
            failure,
            is_transient: false,
            retry_after: None,
        }
    }

    /// Creates an error that a retry may not have.
    pub(crate) fn transient(failure: Failure) -> Self {
        Self {
            is_transient: true,
            ..Self::permanent(failure)
        }
    }

    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Self::permanent(Failure::refused(reason))
    }

    /// Creates an error that any other server would cause as well.
    fn local(filename: &str, error: &io::Error) -> Self {
        let directory = std::env::temp_dir();
        Self::permanent(Failure::Local(format!(
            "{filename} cannot be written to {}, the directory for temporary files: {error}",
            directory.display()
        )))
    }

    /// Creates the error for a URL that the guard rejects. `option` would name its host.
    fn guarded(what: &str, error: &GuardError, option: &str) -> Self {
        let advice = if error.is_private() {
            format!("; if this host is meant to be contacted, add {option}")
        } else {
            String::new()
        };
        Self::refused(format!("{what}: {error}{advice}"))
    }

    fn http(what: &str, host: &str, error: &ureq::Error) -> Self {
        // A request that was not sent is not a failure of the network.
        if let ureq::Error::Other(reason) = error {
            return Self::refused(format!("{what}: {reason}"));
        }
        let reason = http::describe(error);
        let reason = format!("{what} of {host} cannot be fetched: {reason}");
        Self {
            is_transient: http::is_transient_error(error),
            ..Self::permanent(Failure::Unavailable(reason))
        }
    }
}

impl<'a> Upstream<'a> {
    /// Creates a client. `overrides`, `named` and `archive_hosts` are the hosts on the command line, which may be in a private
    /// network.
    pub(crate) fn new(
        overrides: &[HostOverride],
        archive_hosts: &[BaseUrl],
        named: impl IntoIterator<Item = Hostname>,
        retries: u32,
        output: &'a Output,
    ) -> Result<Self, Failure> {
        let urls = overrides.iter().map(|it| &it.url).chain(archive_hosts);
        let mut guard = urls.fold(Guard::public(), |guard, url| {
            guard.naming(url.host(), url.port())
        });
        for hostname in named {
            guard = guard.naming(hostname.as_str(), 443);
        }
        for token in overrides.iter().filter_map(|it| it.token.as_ref()) {
            output.hide(token.secret());
        }
        let by_hostname = overrides.iter().map(|it| (it.hostname.clone(), it.clone()));
        Ok(Self {
            agent: http::guarded_agent(guard.clone())?,
            guard,
            overrides: by_hostname.collect(),
            credentials: Credentials::find(),
            retries,
            output,
        })
    }

    /// Returns the provider service of a host.
    pub(crate) fn discover(&self, hostname: &Hostname) -> Result<Service, Failure> {
        let fetched = self.discovery_document(hostname)?;
        Service::read(&fetched).map_err(|error| failure(hostname, &error))
    }

    /// Returns the host from which modules of a host are fetched. One copy of them serves both public names, so an override of
    /// one of the two applies to both.
    pub(crate) fn module_host<'h>(&'h self, hostname: &'h Hostname) -> &'h Hostname {
        match hostname.is_public() && !self.overrides.contains_key(hostname) {
            true => self
                .overrides
                .keys()
                .find(|it| it.is_public())
                .unwrap_or(hostname),
            false => hostname,
        }
    }

    /// Returns the discovery document of a host.
    pub(crate) fn discovery_document(&self, hostname: &Hostname) -> Result<Fetched, Failure> {
        let fetch = match self.overrides.get(hostname) {
            Some(host_override) => Service::discover_at(&host_override.url.origin()),
            None => Service::discover(hostname),
        };
        self.fetch(&fetch, hostname)
    }

    /// Sends a request on behalf of a host's registry.
    pub(crate) fn fetch(&self, fetch: &Fetch, hostname: &Hostname) -> Result<Fetched, Failure> {
        self.fetch_with_location(fetch, hostname).map(|it| it.0)
    }

    /// Sends a request on behalf of a host's registry. Also returns the location that a header of the response names.
    pub(crate) fn fetch_with_location(
        &self,
        fetch: &Fetch,
        hostname: &Hostname,
    ) -> Result<(Fetched, Option<String>), Failure> {
        self.retrying(|| {
            let (response, final_url) = self.follow(fetch, hostname)?;
            let status = response.status().as_u16();
            let text = |name: &str| {
                let value = response.headers().get(name)?.to_str().ok()?;
                Some(value.to_owned())
            };
            let (content_type, location) = (text("content-type"), text(LOCATION_HEADER));
            let mut body = Vec::new();
            let most = match status {
                200 => fetch.max_bytes.saturating_add(1),
                401 | 403 => REFUSAL_BYTES,
                _ => 0,
            };
            if most > 0 {
                let reader = response.into_body().into_reader();
                reader.take(most).read_to_end(&mut body).map_err(|error| {
                    AttemptError::http(fetch.what, &host(&final_url), &error.into())
                })?;
            }
            let fetched = Fetched {
                status,
                final_url,
                content_type,
                body,
            };
            Ok((fetched, location))
        })
    }

    /// Returns the packages of a version for these platforms, each with all its signed documents, or the reason why no client
    /// would accept it. The first one is asked for alone: the others mostly share its SHA256SUMS.
    pub(crate) fn packages(
        &self,
        service: &Service,
        (address, version): (&MirroredAddress, &Version),
        platforms: &[Platform],
    ) -> Result<Vec<Result<OriginPackage, OriginError>>, Failure> {
        let ask = |platform: &Platform,
                   known: &[OriginPackage]|
         -> Result<Result<OriginPackage, OriginError>, Failure> {
            let (of, platform) = (address.clone(), platform.clone());
            let inquiry = PackageInquiry::new(service, of, version, platform, clock::now());
            let mut inquiry = inquiry.knowing(known);
            loop {
                let fetched = self.fetch(&inquiry.next(), &address.hostname)?;
                if let Some(done) = inquiry.feed(&fetched).transpose() {
                    return Ok(done);
                }
            }
        };
        let Some((first, rest)) = platforms.split_first() else {
            return Ok(Vec::new());
        };
        let first = ask(first, &[])?;
        let known: Vec<OriginPackage> = first.iter().cloned().collect();
        let rest = parallel::map(rest, PARALLEL_REQUESTS, |platform| ask(platform, &known));
        std::iter::once(Ok(first)).chain(rest).collect()
    }

    /// Downloads a zip of a provider, checks it as clients would, and computes the hashes that lock files contain.
    pub(crate) fn download_package(
        &self,
        address: &MirroredAddress,
        package: &OriginPackage,
    ) -> Result<(PackageBody, Archive), Failure> {
        let (fetch, filename) = (&package.download, &package.filename);
        let archive = self.download(fetch, &address.hostname, filename, package.sha256)?;
        let provider_type = &address.provider.provider_type;
        let inspected = archive.inspect_provider(provider_type, &package.platform);
        for remark in &inspected.remarks {
            self.output.warning(remark);
        }
        if !inspected.reasons.is_empty() {
            return Err(Failure::Refused(inspected.reasons));
        }
        let body = archive.package_body(&package.platform, inspected.h1);
        Ok((body, archive))
    }

    /// Downloads an archive, and accepts it only if it has the promised digest, if there is a promise.
    pub(crate) fn download(
        &self,
        fetch: &Fetch,
        hostname: &Hostname,
        filename: &str,
        promised: impl Into<Option<Sha256>>,
    ) -> Result<Archive, Failure> {
        let promised = promised.into();
        self.retrying(|| {
            let (response, final_url) = self.follow(fetch, hostname)?;
            let status = response.status().as_u16();
            let host = host(&final_url);
            if status != 200 {
                return Err(AttemptError::refused(format!(
                    "{filename}: {host} responded with status {status}"
                )));
            }
            let archive = self.keep(response, filename, fetch.max_bytes);
            let archive = archive.map_err(|error| match error {
                DownloadError::Local(error) => AttemptError::local(filename, &error),
                DownloadError::Remote(error) => AttemptError::http(filename, &host, &error.into()),
                DownloadError::TooLong => {
                    let most = fetch.max_bytes;
                    AttemptError::refused(format!("{filename}: it is larger than {most} bytes"))
                }
            })?;
            let found = archive.sha256;
            if let Some(promised) = promised.filter(|promised| *promised != found) {
                return Err(AttemptError::refused(format!(
                    "{filename}: the origin promises sha256 {promised}, but {host} sent {found}"
                )));
            }
            Ok(archive)
        })
    }

    /// Writes a body to a temporary file.
    fn keep(
        &self,
        response: Response<Body>,
        filename: &str,
        most: u64,
    ) -> Result<Archive, DownloadError> {
        let known = response.body().content_length();
        let size = known.unwrap_or_default();
        if size > most {
            return Err(DownloadError::TooLong);
        }
        if !self.output.draws() {
            let size = known.map_or_else(String::new, |size| format!(" ({})", bytes(size)));
            self.output
                .progress(&format!("downloading {filename}{size}"));
        }
        let bar = self.output.upload_bar(filename, size);
        let advance = |chunk: &[u8]| bar.advance(u64::try_from(chunk.len()).unwrap_or_default());
        let mut file = tempfile::tempfile().map_err(DownloadError::Local)?;
        let reader = response.into_body().into_reader();
        let (sha256, size) = download(reader, most, &mut file, advance)?;
        Ok(Archive {
            filename: filename.to_owned(),
            source: Source::Temporary(file),
            size,
            sha256,
        })
    }

    /// Makes one attempt: sends the request, and follows redirects that the guard allows.
    fn follow(
        &self,
        fetch: &Fetch,
        hostname: &Hostname,
    ) -> Result<(Response<Body>, String), AttemptError> {
        let what = fetch.what;
        let mut url = match &fetch.base {
            Some(base) => resolve(base, &fetch.reference),
            None => fetch.reference.clone(),
        };
        for _ in 0..=limits::ORIGIN_REDIRECTS {
            let malformed = || AttemptError::refused(format!("{what}: its URL is malformed"));
            // The parser of the HTTP client treats a port above 65535 as missing.
            Url::parse(&url).map_err(|_| malformed())?;
            let uri: Uri = url.parse().map_err(|_| malformed())?;
            let guarded =
                |error: &GuardError| AttemptError::guarded(what, error, &option(hostname, &uri));
            self.guard
                .check(parts(&uri))
                .map_err(|error| guarded(&error))?;
            let mut request = Request::get(&uri);
            if let Some(token) = self.token(fetch, hostname, &uri)? {
                let header = format!("Bearer {}", token.secret().expose());
                request = request.header("authorization", header);
            }
            let unreachable = |error: ureq::Error| match http::guard_error(&error) {
                Some(error) => guarded(error),
                None => AttemptError::http(what, uri.host().unwrap_or_default(), &error),
            };
            let request = request
                .body(())
                .map_err(|error| unreachable(error.into()))?;
            let response = self.agent.run(request).map_err(unreachable)?;
            let status = response.status().as_u16();
            if http::is_transient_status(status) {
                let host = uri.host().unwrap_or_default();
                let reason = format!("{what}: {host} responded with status {status}");
                return Err(AttemptError {
                    failure: Failure::Unavailable(reason),
                    is_transient: true,
                    retry_after: http::retry_after(&response),
                });
            }
            let location = response.headers().get("location");
            match location.and_then(|location| location.to_str().ok()) {
                Some(location) if matches!(status, 301..=303 | 307 | 308) => {
                    url = resolve(&url, location);
                }
                _ => return Ok((response, url)),
            }
        }
        let most = limits::ORIGIN_REDIRECTS;
        Err(AttemptError::refused(format!(
            "{what}: there are more than {most} redirects"
        )))
    }

    /// Returns the token for a request, if the request goes to the host that the token is for.
    fn token(
        &self,
        fetch: &Fetch,
        hostname: &Hostname,
        uri: &Uri,
    ) -> Result<Option<Token>, AttemptError> {
        let (host, port) = match self.overrides.get(hostname) {
            Some(host_override) => (host_override.url.host(), host_override.url.port()),
            None => (hostname.as_str(), 443),
        };
        let is_its_own = uri.host() == Some(host) && uri.port_u16().unwrap_or(443) == port;
        if !fetch.with_token || !is_its_own {
            return Ok(None);
        }
        let registry = self.overrides.get(hostname);
        if let Some(token) = registry.and_then(|registry| registry.token.clone()) {
            return Ok(Some(token));
        }
        let token_host = match registry {
            Some(registry) => registry.token_host.clone(),
            None => hostname.into(),
        };
        let token = self.credentials.token(&token_host, self.output);
        token.map_err(AttemptError::permanent)
    }

    fn retrying<T>(&self, once: impl Fn() -> Result<T, AttemptError>) -> Result<T, Failure> {
        let mut retries = Retries::new(self.retries);
        loop {
            let error = match once() {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            match retries.next(error.retry_after) {
                Some(pause) if error.is_transient => {
                    http::wait(&error.failure, pause, self.output);
                }
                _ => return Err(error.failure),
            }
        }
    }
}

/// Returns the URL that a reference means in a document from `base`, as the registry resolves it. An absolute one stays as it is:
/// a signature may cover each byte. So does one that cannot be resolved, and is rejected when it is requested.
pub(crate) fn resolve(base: &str, reference: &str) -> String {
    if Url::parse(reference).is_ok() {
        return reference.to_owned();
    }
    let joined = Url::parse(base).and_then(|base| base.join(reference));
    joined.map_or_else(|_| reference.to_owned(), String::from)
}

/// Converts an error of the core, and prefixes its subject.
pub(crate) fn failure(about: impl Display, error: &OriginError) -> Failure {
    let text = format!("{about}: {error}");
    match error {
        error if error.is_denied() => Failure::NotAllowed(format!(
            "{text}; set its token in the variable {CLIENT_TOKENS}<hostname>, with _ for each dot and __ for each dash, \
             or run `terraform login` or `tofu login` with its hostname"
        )),
        error if error.is_temporary() => Failure::Unavailable(text),
        _ => Failure::refused(text),
    }
}

/// Returns the parts of a URL that the guard checks, parsed by the code that makes the connection.
fn parts(uri: &Uri) -> UrlParts<'_> {
    let authority = uri.authority().map(ureq::http::uri::Authority::as_str);
    UrlParts {
        scheme: uri.scheme_str().unwrap_or_default(),
        has_userinfo: authority.is_some_and(|authority| authority.contains('@')),
        host: uri.host().unwrap_or_default(),
        port: uri.port_u16(),
    }
}

/// Returns the option that allows requests to a private host on behalf of a host's registry.
fn option(hostname: &Hostname, uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default();
    let port = uri.port_u16().unwrap_or(443);
    if host == hostname.as_str() {
        return format!("--origin {hostname}=https://{host}:{port}");
    }
    format!("--archive-host {host}:{port}")
}

fn host(url: &str) -> String {
    let uri: Uri = url.parse().unwrap_or_default();
    uri.host().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn an_absolute_url_stays_byte_for_byte() {
        let base = "https://r.example.com/v1/x";
        let signed = "https://h.example.com:443/a%2e%2e/b'c.zip?X-Amz-Signature=a%2Fb";
        assert_eq!(resolve(base, signed), signed);
        assert_eq!(resolve(base, "../a.zip"), "https://r.example.com/a.zip");
    }
}
