//! The location of a module's package, as registries state it and clients read it (clients.md 3.7, 3.8): an archive, or a
//! repository of git in the forms of `go-getter`.

use serde::Deserialize;
use terrace_archive::ArchiveFormat;
use terrace_base::digest::Sha256;
use terrace_base::percent::{Plus, decoded};
use terrace_core::limits;
use terrace_core::upstream::origin::{Fetch, Fetched};

use super::resolve;

/// The header in which registries name the location.
pub(crate) const LOCATION_HEADER: &str = "x-terraform-get";

/// The hosts whose repositories clients recognise without `git::`.
const FORGES: [&str; 2] = ["github.com/", "gitlab.com/"];

/// The place of a module's package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ModuleLocation {
    Archive(ArchiveLocation),
    Repository(RepositoryLocation),
}

/// A repository of git that contains a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RepositoryLocation {
    /// The URL, of https or ssh.
    pub(crate) url: String,
    /// The tag, the branch or the commit; without it, that of `HEAD`.
    pub(crate) reference: Option<String>,
    /// The directory of the module within the repository.
    pub(crate) subdir: Option<String>,
}

/// An archive that contains a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArchiveLocation {
    /// The request for the archive.
    pub(crate) fetch: Fetch,
    /// The format that the location names. Without it, the bytes decide.
    pub(crate) format: Option<ArchiveFormat>,
    /// The directory of the module within the archive.
    pub(crate) subdir: Option<String>,
    /// The digest that the location promises.
    pub(crate) sha256: Option<Sha256>,
}

/// The message about a response that names no location.
const MISSING: &str = "the origin names no location of the module: neither a body with \"location\" nor a header X-Terraform-Get";

/// Returns the message about a module that is neither in an archive that is stored nor in a repository of git.
fn unsupported(location: &str) -> String {
    format!(
        "the origin refers to {:?}, which is neither an archive of zip or tar.gz, to be unpacked and with at most a checksum of \
         SHA-256, nor a repository of git over https or ssh: publish the module from its files, with `terrace publish module DIR`",
        shown(location)
    )
}

/// The body of a download response.
#[derive(Deserialize)]
struct Body {
    location: String,
}

impl ModuleLocation {
    /// Reads the location from the response to a download request: from the body, or else from the header.
    pub(crate) fn read(fetched: &Fetched, header: Option<&str>) -> Result<Self, String> {
        let body: Option<Body> = serde_json::from_slice(&fetched.body).ok();
        let body = body.map(|body| body.location);
        let text = body.as_deref().or(header).map(str::trim);
        let text = text.filter(|text| !text.is_empty());
        Self::parse(text.ok_or(MISSING)?, &fetched.final_url)
    }

    /// Returns the archive, as every registry of this kind has it.
    pub(crate) fn into_archive(self) -> Result<ArchiveLocation, String> {
        match self {
            Self::Archive(location) => Ok(location),
            Self::Repository(location) => Err(unsupported(&location.url)),
        }
    }

    fn parse(text: &str, base: &str) -> Result<Self, String> {
        if let Some(url) = repository_url(text) {
            let location = RepositoryLocation::parse(&url);
            return location.map(Self::Repository).ok_or_else(|| {
                format!(
                    "the origin refers to the repository {:?} with a password, a key or an invalid ref: only a ref and git's own \
                     credentials are used",
                    shown(text)
                )
            });
        }
        let is_relative = ["/", "./", "../"].iter().any(|it| text.starts_with(it));
        let url = match is_relative {
            true => resolve(base, text),
            false => text.strip_prefix("https::").unwrap_or(text).to_owned(),
        };
        let is_url = url.starts_with("https://") || url.starts_with("http://");
        if !is_url || url.contains(char::is_whitespace) || !url.is_ascii() {
            return Err(unsupported(text));
        }
        let (url, subdir) = split_subdir(&url);
        let (url, archive, checksum) = split_query(&url);
        let path = url.split('?').next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let format = match archive.as_deref() {
            // `true` and the empty value mean the ending of the path.
            None | Some("true" | "") => ArchiveFormat::of_file_name(name),
            // `false` and `0` are no formats either: clients do not unpack such an archive.
            Some(named) => {
                let format = ArchiveFormat::of_file_name(&format!(".{named}"));
                Some(format.ok_or_else(|| unsupported(text))?)
            }
        };
        let sha256 = checksum.map(|sum| {
            let digest = sum.strip_prefix("sha256:").and_then(|it| it.parse().ok());
            digest.ok_or_else(|| unsupported(text))
        });
        Ok(Self::Archive(ArchiveLocation {
            fetch: Fetch {
                base: None,
                reference: url,
                max_bytes: limits::ARCHIVE_BYTES,
                with_token: false,
                what: "module archive",
            },
            format,
            subdir,
            sha256: sha256.transpose()?,
        }))
    }
}

/// Returns the URL of the repository that a location means, in the forms that clients recognise: `git::URL`, a path of a forge,
/// and `user@host:path`.
fn repository_url(text: &str) -> Option<String> {
    let forced = text.strip_prefix("git::");
    let text = forced.unwrap_or(text);
    if text.contains("://") {
        return forced.map(str::to_owned);
    }
    if FORGES.iter().any(|forge| text.starts_with(forge)) {
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let (repository, subdir) = path.split_once("//").unwrap_or((path, ""));
        let mut parts = repository.splitn(4, '/');
        let (host, owner, name) = (parts.next()?, parts.next()?, parts.next()?);
        let name = name.strip_suffix(".git").unwrap_or(name);
        let subdir = parts.next().unwrap_or(subdir);
        return Some(format!(
            "https://{host}/{owner}/{name}.git//{subdir}?{query}"
        ));
    }
    let (user, path) = text.split_once('@')?;
    let (host, path) = path.split_once(':')?;
    let is_plain = !user.contains('/') && !host.contains('/');
    is_plain.then(|| format!("ssh://{user}@{host}/{path}"))
}

impl RepositoryLocation {
    /// Parses the URL of a repository with `//subdir` and `ref`. Other parameters than that of a shallow clone would have an
    /// effect that a fetch does not have.
    fn parse(url: &str) -> Option<Self> {
        let (url, subdir) = split_subdir(url);
        let (url, query) = url.split_once('?').unwrap_or((&url, ""));
        let mut reference = None;
        for parameter in query.split('&').filter(|it| !it.is_empty()) {
            match parameter.split_once('=')? {
                ("ref", value) => reference = Some(decoded(value, Plus::Space)?.into_owned()),
                ("depth", _) => {}
                _ => return None,
            }
        }
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split('/').next().unwrap_or_default();
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        let is_allowed = match scheme {
            "https" => user.is_none(),
            "ssh" => user.is_none_or(|user| !user.contains(':')),
            _ => false,
        };
        let is_plain = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._~/+@%:=,".contains(&byte))
        };
        let is_ref = |name: &String| {
            !name.is_empty() && is_plain(name) && !name.starts_with('-') && !name.contains(':')
        };
        let is_valid = is_allowed && is_plain(rest) && reference.as_ref().is_none_or(is_ref);
        is_valid.then(|| Self {
            url: url.to_owned(),
            reference: reference.filter(|name| name != "HEAD"),
            subdir,
        })
    }
}

/// Splits off the directory within the archive: what follows `//` in the path, in front of the query.
fn split_subdir(url: &str) -> (String, Option<String>) {
    let (whole, query) = match url.split_once('?') {
        Some((whole, query)) => (whole, format!("?{query}")),
        None => (url, String::new()),
    };
    let (scheme, rest) = whole.split_once("://").unwrap_or(("", whole));
    match rest.split_once("//") {
        None => (url.to_owned(), None),
        Some((path, subdir)) => {
            let subdir = subdir.trim_matches('/');
            let subdir = Some(subdir.to_owned()).filter(|it| !it.is_empty());
            (format!("{scheme}://{path}{query}"), subdir)
        }
    }
}

/// Splits off the parameters that clients do not send: `archive` and `checksum`. The others stay byte for byte: they may be
/// signed.
fn split_query(url: &str) -> (String, Option<String>, Option<String>) {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut archive, mut checksum) = (None, None);
    let mut kept = Vec::new();
    for parameter in query.split('&') {
        match parameter.split_once('=').unwrap_or((parameter, "")) {
            ("archive", value) => archive = Some(value.to_owned()),
            ("checksum", value) => checksum = Some(value.replace("%3A", ":").replace("%3a", ":")),
            _ => kept.push(parameter),
        }
    }
    let query = kept.join("&");
    let url = match query.as_str() {
        "" => path.to_owned(),
        query => format!("{path}?{query}"),
    };
    (url, archive, checksum)
}

/// Returns the start of a location without its query and a password, for a message. It need not be a URL.
fn shown(location: &str) -> String {
    let location = location.split('?').next().unwrap_or_default();
    let (start, rest) = match location.split_once("://") {
        Some((start, rest)) => (format!("{start}://"), rest),
        None => (String::new(), location),
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let host = authority.rsplit('@').next().unwrap_or_default();
    // A password that is cut off is no longer recognised.
    let shown = format!("{start}{host}{path}");
    shown.chars().take(limits::ORIGIN_TEXT_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "https://old.example/v1/modules/acme/vpc/aws/1.0.0/download";

    fn parse(text: &str) -> Result<(String, Option<ArchiveFormat>, Option<String>), String> {
        let ModuleLocation::Archive(location) = ModuleLocation::parse(text, BASE)? else {
            panic!("{text} is a repository")
        };
        assert!(!location.fetch.with_token);
        Ok((location.fetch.reference, location.format, location.subdir))
    }

    #[test]
    fn archives_are_located_as_clients_locate_them() {
        let (zip, tar) = (Some(ArchiveFormat::Zip), Some(ArchiveFormat::TarGz));
        for (text, url, format, subdir) in [
            ("https://s.test/a.zip", "https://s.test/a.zip", zip, None),
            (
                "/files/a.tar.gz",
                "https://old.example/files/a.tar.gz",
                tar,
                None,
            ),
            ("./a.tgz", &BASE.replace("download", "a.tgz"), tar, None),
            (
                "../a?archive=zip",
                &BASE.replace("1.0.0/download", "a"),
                zip,
                None,
            ),
            (
                "https://s.test/o?sig=a%2Fb&archive=tgz&x",
                "https://s.test/o?sig=a%2Fb&x",
                tar,
                None,
            ),
            (
                "https://s.test/a.zip//modules/vpc?sig=b//c",
                "https://s.test/a.zip?sig=b//c",
                zip,
                Some("modules/vpc"),
            ),
            (
                "https://s.test/a//*?archive=tar.gz",
                "https://s.test/a",
                tar,
                Some("*"),
            ),
            ("https::https://s.test/a", "https://s.test/a", None, None),
        ] {
            let subdir = subdir.map(str::to_owned);
            assert_eq!(parse(text), Ok((url.to_owned(), format, subdir)), "{text}");
        }
    }

    #[test]
    fn repositories_are_located_as_clients_locate_them() {
        let at = |url: &str, reference: Option<&str>, subdir: Option<&str>| RepositoryLocation {
            url: url.to_owned(),
            reference: reference.map(str::to_owned),
            subdir: subdir.map(str::to_owned),
        };
        let (url, ssh) = ("https://git.example/vpc", "ssh://git@git.example/vpc.git");
        let github = "https://github.com/acme/vpc.git";
        for (text, location) in [
            (
                "git::https://git.example/vpc//modules/a?ref=v1.0.0%2Bb&depth=1",
                at(url, Some("v1.0.0+b"), Some("modules/a")),
            ),
            ("git::https://git.example/vpc?ref=HEAD", at(url, None, None)),
            ("git::ssh://git@git.example/vpc.git", at(ssh, None, None)),
            (
                "git@git.example:vpc.git//a?ref=main",
                at(ssh, Some("main"), Some("a")),
            ),
            (
                "github.com/acme/vpc//modules/a?ref=v1",
                at(github, Some("v1"), Some("modules/a")),
            ),
        ] {
            let parsed = ModuleLocation::parse(text, BASE);
            assert_eq!(parsed, Ok(ModuleLocation::Repository(location)), "{text}");
        }
    }

    #[test]
    fn other_locations_are_refused_without_their_passwords() {
        for text in [
            "git::https://user:pa5s@git.example/vpc",
            "git::git::https://user:pa5s@git.example/vpc",
            "git::ssh://user:pa5s@git.example/vpc",
            &format!("git::https://user:pa5s{}@git.example/vpc", "x".repeat(2000)),
            "git::file:///srv/vpc",
            "git::http://git.example/vpc",
            "git::ext::sh -c true",
            "git::https://git.example/vpc?ref=-x",
            "git::https://git.example/vpc?ref=a%3Ab",
            "git::https://git.example/vpc?sshkey=pa5s",
            "hg::https://hg.example/vpc",
            "s3::https://s3.example/a.zip",
            "https://git.example/a b",
            "https://s.example/a?archive=rar",
            "https://s.example/a.zip?archive=false",
            "https://s.example/a.zip?checksum=md5:aa",
        ] {
            let error = ModuleLocation::parse(text, BASE).unwrap_err();
            assert!(error.contains("the origin refers to"), "{text}: {error}");
            assert!(
                !error.contains("pa5s") && !error.contains("?ref"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_body_takes_precedence_over_the_header() {
        let fetched = |body: &str| Fetched {
            status: 200,
            final_url: BASE.to_owned(),
            content_type: None,
            body: body.as_bytes().to_vec(),
        };
        let read = |body: &str, header| {
            let location = ModuleLocation::read(&fetched(body), header);
            location.map(|location| match location {
                ModuleLocation::Archive(location) => location.fetch.reference,
                ModuleLocation::Repository(location) => location.url,
            })
        };
        let body = r#"{"location": "/a.zip"}"#;
        let (a, b) = ("https://old.example/a.zip", "https://old.example/b.zip");
        assert_eq!(read(body, Some("/b.zip")).unwrap(), a);
        for other in ["", "<a href=\"/x.zip\">x</a>", "{}"] {
            assert_eq!(read(other, Some("/b.zip")).unwrap(), b);
            assert_eq!(read(other, None), Err(MISSING.to_owned()));
        }
    }
}
