//! What is fuzzed: each target takes any bytes, and must neither panic nor contradict itself.
//!
//! `fuzz_targets` gives them to libFuzzer, and `tests/it/native/fuzzed.rs` what is kept in `corpus`.

use std::fmt::{Debug, Display};
use std::io::Write as _;
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use terrace_archive::{
    Entry, Step, TarGzInspector, ZipInspector, check_module_archive, check_provider_package,
    inspect_tar_gz, inspect_zip, module_archive_warnings,
};
use terrace_base::digest::Sha256;
use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{
    FactBody, GarbageBody, MirrorBody, ModuleBody, ProviderBody, ReindexBody, RestoreBody,
    RotationBody, SigningKeysDocument, StandingBody, TokenBody, UploadsBody, VerifyBody,
};
use terrace_core::api::route::Route;
use terrace_core::auth::access::{
    OwnerPattern, RevocationDocument, Revocations, Scope, Scopes, Sealable, Seals, Token,
    TokenDocument, TokenKeys, TokenName,
};
use terrace_core::auth::exchange::{self, ExchangeRequest};
use terrace_core::auth::login::{
    Allowed, Browser, Challenge, Code, Consent, Form, GitHubList, GitHubMembers, Person, Port,
    ProviderAnswer, Terminal, TerminalState, TokenRequest, Verifier,
};
use terrace_core::auth::oidc::{
    Discovery, Expected, IssuerKeys, IssuerUrl, LoginRules, TrustedPublishers, UnverifiedToken,
};
use terrace_core::config::Config;
use terrace_core::http::form::Query;
use terrace_core::http::range;
use terrace_core::http::reply::Body;
use terrace_core::http::request_line::Client;
use terrace_core::index::{self, DescribedVersion, ListedRelease};
use terrace_core::maintenance::audit::{AuditChain, AuditEntry, AuditHead};
use terrace_core::maintenance::repair::{CursorDocument, GarbageDocument, Position};
use terrace_core::maintenance::restore::{Restored, check_referrer};
use terrace_core::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use terrace_core::model::name::{Hostname, Namespace};
use terrace_core::model::oci::UploadId;
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::model::package::Package;
use terrace_core::model::package_hash::PackageHash;
use terrace_core::model::platform::Platform;
use terrace_core::model::protocol_version::ProtocolVersion;
use terrace_core::model::shasums::Shasums;
use terrace_core::model::source::SourceUrl;
use terrace_core::model::status::{KeyState, KeyStatement, Reason, Standings, State, Statement};
use terrace_core::model::subdir::Subdir;
use terrace_core::model::token_id::TokenId;
use terrace_core::model::version::Version;
use terrace_core::oci::pushed::{
    LinkDocument, ProviderRepositories, PushedManifest, PushedRequest, TagDocument, UploadSession,
};
use terrace_core::oci::{OciPath, OciRequest, Reference, TagPage};
use terrace_core::publish::{MirrorPublication, ModulePublication, ProviderPublication};
use terrace_core::read::{Answered, Asked, Begun, Found, IndexForm, begin};
use terrace_core::storage::index_document::IndexMetadata;
use terrace_core::storage::key::{ArchiveKey, BytesKey, FactKey, IndexKey, PushedFact};
use terrace_core::storage::release::Release;
use terrace_core::upstream::origin::{Constraints, Fetched, OriginVersions, Service};
use terrace_core::upstream::pull::{OriginDocument, ProviderPattern, VersionPattern};
use terrace_openpgp::{KeyId, detached_signature, parse_signing_keys, verify_detached};

const NOW: UnixTime = UnixTime(1_800_000_000);

/// Something that takes any bytes.
pub type Target = fn(&[u8]);

/// All of them, by the names of their corpora.
pub const TARGETS: [(&str, Target); 18] = [
    ("admin", admin),
    ("config", config),
    ("documents", documents),
    ("exchange", exchange),
    ("login", login),
    ("names", names),
    ("oci", oci),
    ("oidc", oidc),
    ("openpgp", openpgp),
    ("origin", origin),
    ("pushed", pushed),
    ("read", read),
    ("release", release),
    ("route", route),
    ("shasums", shasums),
    ("tar", tar),
    ("token", token),
    ("zip", zip),
];

fn text(data: &[u8]) -> Option<&str> {
    str::from_utf8(data).ok()
}

/// What is accepted is written as something that is accepted and means the same.
fn round_trip<T: FromStr + Display + PartialEq + Debug>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        let written = value.to_string();
        let again = written.parse::<T>().ok();
        assert_eq!(
            again.as_ref(),
            Some(&value),
            "{text:?} is written {written:?}"
        );
    }
}

/// The same of a document that is stored.
fn document<T: DeserializeOwned + Serialize + PartialEq + Debug>(data: &[u8]) {
    if let Ok(value) = serde_json::from_slice::<T>(data) {
        let written = serde_json::to_string(&value).expect("a document");
        assert_eq!(
            serde_json::from_str::<T>(&written).expect("a document"),
            value
        );
    }
}

fn split(data: &[u8], at: u8) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == at) {
        Some(place) => (&data[..place], &data[place + 1..]),
        None => (data, &[]),
    }
}

/// A path.
pub fn route(data: &[u8]) {
    let path = text(data).filter(|path| path.starts_with('/'));
    if let Some(Ok(route)) = path.map(Route::parse) {
        assert!(!format!("{route:?}").is_empty());
    }
}

/// A method, a path, a query and headers, a line each; then what KV has for it.
pub fn read(data: &[u8]) {
    let Some(all) = text(data) else { return };
    let mut lines = all.splitn(7, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (method, path, query, condition) = (next(), next(), next(), next());
    let (authorization, range, index) = (next(), next(), next());
    for vars in [OPEN.as_slice(), &CLOSED] {
        let config = configured(vars).expect("these are right");
        let asked = Asked {
            method,
            origin: "https://registry.example.com",
            path,
            query,
            if_none_match: Some(condition),
            authorization: Some(authorization),
            user_agent: None,
        };
        let (name, begun) = begin::<Vec<u8>>(&asked, &config, || NOW);
        assert!(!name.contains('/'), "{name:?}");
        let Begun::Read(mut lookup) = begun else {
            continue;
        };
        if lookup.leads_to_bytes() {
            lookup.set_range(Some(range.to_owned()));
        }
        let (metadata, body) = index.split_once('\n').unwrap_or((index, ""));
        let metadata = serde_json::from_str::<IndexMetadata>(metadata);
        let metadata = metadata.unwrap_or_else(|_| IndexMetadata {
            etag: "\"etag\"".to_owned(),
            gone: None,
            content: None,
            pull: None,
        });
        let body = match lookup.form {
            IndexForm::Stream => Body::Stream(body.as_bytes().to_vec()),
            IndexForm::Text => Body::Text(body.to_owned()),
        };
        let found = Found { metadata, body };
        let answered = lookup.answer(found, &config, asked.origin, NOW);
        if let Answered::Fresh(reply) | Answered::Stale(reply, _) = answered {
            for (name, value) in &reply.headers {
                assert!(!value.contains(['\r', '\n', '\0']), "{name}: {value:?}");
            }
        }
    }
}

const OPEN: [(&str, &str); 1] = [("TERRACE_ADMIN_TOKEN", "0123456789abcdef")];
const CLOSED: [(&str, &str); 3] = [
    ("TERRACE_ADMIN_TOKEN", "0123456789abcdef"),
    ("TERRACE_ACCESS", "private"),
    ("TERRACE_PULL_THROUGH", "registry.opentofu.org/*/*"),
];

fn configured(vars: &[(&str, &str)]) -> Option<Config> {
    Config::from_vars(vars).ok()
}

/// Variables, one a line: a name, `=`, and its value.
pub fn config(data: &[u8]) {
    let Some(all) = text(data) else { return };
    let vars = all.lines().filter_map(|line| line.split_once('='));
    let vars: Vec<(&str, String)> = vars
        .map(|(name, value)| match SECRETS.contains(&name) {
            true => (name, format!("{value}{TOLD_TO_NOBODY}")),
            false => (name, value.to_owned()),
        })
        .collect();
    let vars: Vec<(&str, &str)> = vars.iter().map(|(name, value)| (*name, &**value)).collect();
    let told = match Config::from_vars(&vars) {
        Ok(config) => format!("{config:?}"),
        Err(error) => error.to_string(),
    };
    assert!(
        !told.contains(TOLD_TO_NOBODY) || all.contains(TOLD_TO_NOBODY),
        "{told}"
    );
}

const SECRETS: [&str; 5] = [
    "TERRACE_ADMIN_TOKEN",
    "TERRACE_ADMIN_TOKEN_PREVIOUS",
    "TERRACE_LOGIN_CLIENT_SECRET",
    "TERRACE_S3_SECRET_ACCESS_KEY",
    "TERRACE_URL_SECRET",
];

/// It begins with a letter that ends no escape of a text that is told in quotes: `\0` before `123` has once been
/// taken for the secret `0123`.
const TOLD_TO_NOBODY: &str = "Nobody is told this";

/// The document of a release.
pub fn release(data: &[u8]) {
    let Ok(release) = Release::from_document(data) else {
        return;
    };
    let written = release.to_document().expect("a release");
    let again = Release::from_document(written.as_bytes()).expect("what was written");
    assert_eq!(again, release);
    assert_eq!(again.to_document().expect("a release"), written);
    let package = release.package();
    let listed = ListedRelease::of(&release).expect("a release");
    let metadata = listed.to_metadata(&package);
    let told = |name: &str| {
        let found = metadata.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    };
    // Without any protocol or platform there is nothing to list, and its document tells.
    let read = ListedRelease::from_metadata(&package, listed.version.clone(), told);
    assert!(read.is_none_or(|read| read.contents == listed.contents));
    let version = release.version().to_string();
    let said = Standings {
        package: None,
        versions: [(version, revoked())].into(),
    };
    let standings = Standings::default();
    index::of_version(&release, &[], &standings).expect("a release");
    index::of_version(&release, &[], &said).expect("a release");
    index::versions(&package, vec![listed], &standings).expect("a release");
}

fn revoked() -> Statement {
    Statement {
        state: State::Revoked,
        reason: "stolen".parse().expect("a reason"),
        at: NOW.0,
        by: "root".to_owned(),
    }
}

/// Every other document that is stored; the first byte says which.
pub fn documents(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else {
        return;
    };
    match kind {
        b'v' => {
            let metadata = IndexMetadata {
                etag: "\"etag\"".to_owned(),
                gone: None,
                content: None,
                pull: None,
            };
            let text = std::str::from_utf8(data).ok();
            let described = text.and_then(|text| DescribedVersion::parse(&metadata, text));
            // No digest is ever read from a text that names none.
            assert!(described.is_none() || data.contains(&b':'));
        }
        b'a' => {
            if let Ok(keys) = serde_json::from_slice::<SigningKeysDocument>(data) {
                for key in &keys.keys {
                    let _ = parse_signing_keys(&key.ascii_armor);
                }
            }
            document::<SigningKeysDocument>(data);
        }
        b'b' => document::<TokenDocument>(data),
        b'c' => document::<RevocationDocument>(data),
        b'd' => document::<Revocations>(data),
        b'e' => document::<LinkDocument>(data),
        b'f' => document::<TagDocument>(data),
        b'g' => {
            if let Ok(mut session) = serde_json::from_slice::<UploadSession>(data) {
                let id = UploadId::new(NOW, [7; 16]);
                assert!(
                    session.size() >= session.chunks(id).iter().map(|it| it.1).max().unwrap_or(0)
                );
                let _ = session.add(7, &[1, u64::MAX]);
                let _ = (session.range(), session.is_empty());
            }
            document::<UploadSession>(data);
        }
        b'h' => {
            if let Ok(seen) = OriginDocument::from_document(data) {
                assert!(!format!("{seen:?}").is_empty());
            }
        }
        b'i' => {
            if let Ok(standings) = serde_json::from_slice::<Standings>(data) {
                for line in standings.warnings("acme/widget") {
                    assert!(!line.chars().any(char::is_control), "{line:?}");
                }
            }
            document::<Standings>(data);
        }
        b'j' => document::<KeyStatement>(data),
        b'k' => {
            let entries = text(data).into_iter().flat_map(|text| text.split('\n'));
            let mut chain = AuditChain::default();
            let mut walked = 0;
            for entry in entries {
                match chain.follow(entry) {
                    Ok(_) => walked += 1,
                    Err(fault) => assert!(!fault.to_string().is_empty()),
                }
            }
            assert_eq!(chain.length(), walked);
            document::<AuditEntry>(data);
        }
        b'l' => document::<AuditHead>(data),
        b'r' => document::<CursorDocument>(data),
        b's' => document::<GarbageDocument>(data),
        b't' => restored(data),
        _ => document::<IndexMetadata>(data),
    }
}

/// A key, and behind its line a document of a copy.
fn restored(data: &[u8]) {
    let Some((key, document)) = text(data).and_then(|text| text.split_once('\n')) else {
        return;
    };
    let Some(key) = FactKey::parse(key) else {
        return;
    };
    match Restored::parse(&key, document) {
        Ok(restored) => assert!(restored.change.is_none_or(|change| !change.lasts())),
        Err(reason) => assert!(!reason.is_empty()),
    }
    if let FactKey::Pushed(PushedFact::Referrer(_, subject, digest)) = key {
        let manifest = document.as_bytes();
        let _ = check_referrer(document, subject, manifest, digest);
    }
}

/// The text of SHA256SUMS.
pub fn shasums(data: &[u8]) {
    let Some(text) = text(data) else { return };
    match Shasums::parse(text) {
        Ok(parsed) => assert_eq!(parsed.as_str(), text),
        Err(errors) => assert!(!errors.is_empty(), "a refusal has a reason"),
    }
}

/// Everything that is a short text: versions, addresses, names, digests.
pub fn names(data: &[u8]) {
    let Some(text) = text(data) else { return };
    round_trip::<Version>(text);
    if let Ok(version) = Version::parse_request(text) {
        round_trip::<Version>(&version.to_string());
    }
    round_trip::<ProviderAddress>(text);
    round_trip::<MirroredAddress>(text);
    round_trip::<ModuleAddress>(text);
    round_trip::<Hostname>(text);
    round_trip::<Namespace>(text);
    round_trip::<Platform>(text);
    round_trip::<ProtocolVersion>(text);
    round_trip::<Sha256>(text);
    round_trip::<PackageHash>(text);
    round_trip::<SourceUrl>(text);
    round_trip::<KeyId>(text);
    // A key is written whole, and read by its last part.
    if let Ok(archive) = text.parse::<ArchiveKey>() {
        assert_eq!(archive.file_name().parse(), Ok(archive));
    }
    if let Some(key) = FactKey::parse(text) {
        assert_eq!(key.to_string(), text);
    }
    if let Some(key) = IndexKey::parse(text) {
        assert_eq!(key.to_string(), text);
    }
    if let Some(key) = BytesKey::parse_key(text) {
        assert_eq!(key.to_string(), text);
    }
    if let Some(package) = Package::parse_key(text) {
        assert_eq!(package.to_string(), text);
    }
    if let Some(package) = Package::parse_address(text) {
        assert_eq!(Package::parse_address(&package.address()), Some(package));
    }
    if let Ok(position) = text.parse::<Position>() {
        assert_eq!(position.to_string().parse(), Ok(position));
    }
    let client = Client::of_user_agent(Some(text));
    let is_known = |it: &str| it.bytes().all(|byte| byte.is_ascii_graphic());
    assert!(is_known(client.product()), "{client:?}");
    if let Ok(key) = text.parse::<BytesKey>() {
        assert_eq!(key.file_name(), text);
    }
    if let Ok(subdir) = text.parse::<Subdir>() {
        assert!(!subdir.as_str().split('/').any(|part| part == ".."));
    }
    if let Ok(constraints) = text.parse::<Constraints>() {
        let version = Version::from_str("1.2.3").expect("a version");
        let _ = constraints.admit(&version);
    }
    let _ = (
        text.parse::<ProviderPattern>(),
        text.parse::<VersionPattern>(),
    );
    let _ = text.parse::<OwnerPattern>();
    round_trip::<Scope>(text);
    round_trip::<TokenName>(text);
    round_trip::<State>(text);
    round_trip::<KeyState>(text);
    round_trip::<Reason>(text);
    round_trip::<Port>(text);
    round_trip::<Challenge>(text);
    round_trip::<TerminalState>(text);
    if let Ok(verifier) = text.parse::<Verifier>() {
        assert!(verifier.challenge().is_of(&verifier));
    }
}

/// A zip, as a provider's and as a module's.
pub fn zip(data: &[u8]) {
    for inspector in [ZipInspector::new, ZipInspector::with_contents] {
        let mut inspector = inspector(data.len() as u64);
        let mut reads = 0;
        while let Step::Read { offset, len } = inspector.next() {
            let end = offset.checked_add(len).expect("a place");
            assert!(
                end <= data.len() as u64,
                "reads {offset}+{len} of {}",
                data.len()
            );
            let (offset, end) = (offset as usize, end as usize);
            if inspector.feed(&data[offset..end]).is_err() {
                break;
            }
            reads += 1;
            assert!(reads <= 4 + data.len(), "it goes on");
        }
        if let Ok(entries) = inspector.finish() {
            judge(&entries);
        }
    }
    let _ = inspect_zip(data);
}

fn judge(entries: &[Entry]) {
    let _ = check_provider_package(entries, "widget");
    let _ = check_module_archive(entries, Some("modules/vpc"));
    let _ = module_archive_warnings(entries);
}

/// A gzipped tar: as it comes, and as what is in it. It is fed in pieces of which the first byte tells the
/// length.
pub fn tar(data: &[u8]) {
    let Some((piece, data)) = data.split_first() else {
        return;
    };
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    gzip.write_all(data).expect("memory");
    let zipped = gzip.finish().expect("memory");
    for archive in [data, &zipped] {
        let mut inspector = TarGzInspector::new();
        let pieces = archive.chunks(1 + usize::from(*piece));
        let fed = pieces
            .map(|piece| inspector.feed(piece))
            .find(Result::is_err);
        let in_pieces = match fed {
            Some(error) => error.map(|()| Vec::new()),
            None => inspector.finish(),
        };
        let at_once = inspect_tar_gz(archive);
        assert_eq!(
            in_pieces.is_ok(),
            at_once.is_ok(),
            "{in_pieces:?} {at_once:?}"
        );
        if let Ok(entries) = at_once {
            judge(&entries);
        }
    }
}

/// A token; or its parts, a line each.
pub fn token(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let keys = TokenKeys::new(&Secret::new("0123456789abcdef"), None);
    // Nobody guesses one.
    assert!(keys.read(text, || NOW).is_err() || text.len() > 80);
    let mut lines = text.split('\n');
    let mut next = || lines.next().unwrap_or_default();
    let (id, name, scopes, expires) = (next(), next(), next(), next());
    round_trip::<Scopes>(scopes);
    round_trip::<TokenId>(id);
    if let (Ok(id), Ok(name), Ok(scopes)) = (
        id.parse::<TokenId>(),
        name.parse::<TokenName>(),
        scopes.parse::<Scopes>(),
    ) {
        let expires = expires.parse().ok().map(UnixTime);
        let token = Token {
            id,
            name,
            scopes,
            expires,
            is_of_previous: false,
        };
        let written = keys.write(&token);
        if written.len() <= terrace_core::limits::TOKEN_BYTES {
            let read = keys.read(&written, || UnixTime(0));
            assert_eq!(read.as_ref(), Ok(&token), "{written}");
        }
        let config = configured(&OPEN).expect("these are right");
        let _ = config
            .access
            .caller(Some(&format!("Bearer {written}")), || NOW);
    }
    let config = configured(&OPEN).expect("these are right");
    let _ = config.access.caller(Some(text), || NOW);
}

/// A token of another party, and what its issuer says, in a line behind it; rules.
pub fn oidc(data: &[u8]) {
    let (first, rest) = split(data, b'\n');
    let issuer: IssuerUrl = "https://issuer.example.com".parse().expect("a URL");
    let keys = IssuerKeys::parse(&issuer, rest);
    let _ = Discovery::parse(&issuer, rest);
    if let Some(token) = text(first)
        && let Ok(token) = UnverifiedToken::parse(token)
    {
        let _ = token.claimed_issuer();
        if let Ok(keys) = &keys {
            let expected = Expected {
                audiences: &["terrace"],
                now: NOW,
                longest_life: None,
            };
            let _ = token.verify(keys, &expected);
        }
    }
    if let Some(text) = text(data) {
        let _ = (
            text.parse::<TrustedPublishers>(),
            text.parse::<LoginRules>(),
        );
        let _ = text.parse::<IssuerUrl>();
    }
}

/// The type of a form, a line, and the form with which a job asks for a token.
pub fn exchange(data: &[u8]) {
    let (content_type, body) = split(data, b'\n');
    let origin = "https://registry.example.com";
    let asked = ExchangeRequest::parse(text(content_type), body, origin);
    let granted: Scopes = "publish:acme read:globex".parse().expect("scopes");
    match asked {
        Ok(request) => {
            assert!(!request.subject_token().is_empty());
            if let Ok(scopes) = request.narrow(&granted) {
                assert!(scopes.iter().all(|scope| granted.cover(scope)), "{scopes}");
            }
        }
        Err(error) => assert!(error.reply::<()>().status >= 400),
    }
    if let Some(token) = text(body) {
        let form = exchange::request_body(token);
        let form_type = Some("application/x-www-form-urlencoded");
        let read = ExchangeRequest::parse(form_type, form.as_bytes(), origin);
        let same = read.as_ref().is_ok_and(|it| it.subject_token() == token);
        let is_long = form.len() as u64 > terrace_core::limits::EXCHANGE_BYTES;
        assert!(same || token.is_empty() || is_long, "{read:?}");
    }
}

/// What terminals and browsers send, a query, a form or cookies, in a line; and what a provider says of somebody.
pub fn login(data: &[u8]) {
    let (sent, said) = split(data, b'\n');
    let _ = ProviderAnswer::parse(said);
    if let Some(mut members) = GitHubMembers::of_user(said) {
        let _ = members.add(GitHubList::Organisations, said);
        let _ = members.add(GitHubList::Teams, said);
        let _ = Person::of(&members.into_claims());
    }
    let claims: Map<String, Value> = serde_json::from_slice(said).unwrap_or_default();
    let person = Person::of(&claims);
    for name in [&person.name, &person.account] {
        assert_eq!(name.to_string().parse().as_ref(), Ok(name));
    }
    let seals = Seals::new(&Secret::new("0123456789abcdef"), None);
    let token = Allowed {
        id: "0123456789abcdef".parse().expect("an id"),
        person,
        scopes: "read publish:acme".parse().expect("scopes"),
    };
    if let Ok(request) = TokenRequest::parse(sent) {
        assert!(seals.open::<Code>(&request.code, NOW).is_err());
        let code = Code {
            port: request.port,
            challenge: request.verifier.challenge(),
            token: token.clone(),
        };
        assert_eq!(again(&seals, &code), code);
        assert_eq!(code.redeem(&request).as_ref(), Ok(&token));
    }
    let Some(sent) = text(sent) else { return };
    for name in ["state", "code", "error", "answer"] {
        let _ = Form(sent).value(name);
    }
    if let Some(browser) = Browser::of_cookies(sent) {
        assert!(browser.mark().is_of(&browser));
    }
    if let Ok(terminal) = Terminal::parse(sent) {
        let url = terminal.redirect_to("a.b");
        assert!(url.starts_with(&format!("{}/login?", terminal.port.origin())));
        assert!(!url.chars().any(|c| c.is_control() || c == ' '), "{url:?}");
        let browser = Browser::new([7; 16]).mark();
        let consent = Consent {
            terminal,
            browser,
            token,
        };
        assert_eq!(again(&seals, &consent), consent);
    }
}

/// What is sealed is opened as it was.
fn again<T: Sealable>(seals: &Seals, what: &T) -> T {
    seals.open(&seals.seal(what, NOW), NOW).expect("ours").0
}

/// Armoured keys, up to a NUL, and a signature.
pub fn openpgp(data: &[u8]) {
    let (keys, signature) = split(data, 0);
    let keys = text(keys).and_then(|keys| parse_signing_keys(keys).ok());
    for signature in [signature, data] {
        let Ok(signature) = detached_signature(signature) else {
            continue;
        };
        if let Some(keys) = &keys {
            let _ = verify_detached(keys, b"signed", &signature, NOW.0);
        }
    }
}

/// The bodies of admin requests.
pub fn admin(data: &[u8]) {
    let version: Version = "1.2.3".parse().expect("a version");
    if let Ok(body) = serde_json::from_slice::<ProviderBody>(data) {
        let address = "acme/widget".parse().expect("an address");
        let parsed = ProviderPublication::parse(address, version.clone(), &body);
        assert!(parsed.err().is_none_or(|reasons| !reasons.is_empty()));
    }
    if let Ok(body) = serde_json::from_slice::<MirrorBody>(data) {
        let address = "registry.example.com/acme/widget"
            .parse()
            .expect("an address");
        let parsed = MirrorPublication::parse(address, version.clone(), &body, NOW);
        assert!(parsed.err().is_none_or(|reasons| !reasons.is_empty()));
    }
    if let Ok(body) = serde_json::from_slice::<ModuleBody>(data) {
        let address = "acme/vpc/aws".parse().expect("an address");
        let parsed = ModulePublication::parse(address, version, &body);
        assert!(parsed.err().is_none_or(|reasons| !reasons.is_empty()));
    }
    if let Ok(body) = serde_json::from_slice::<TokenBody>(data) {
        let _ = body.name.parse::<TokenName>();
        let _ = body.scopes.join(" ").parse::<Scopes>();
    }
    let _ = serde_json::from_slice::<RotationBody>(data);
    if let Ok(ReindexBody {
        behind,
        package,
        accept_loss,
    }) = serde_json::from_slice(data)
    {
        let mut releases = accept_loss.iter();
        let _ = releases.all(|release| FactKey::parse_release(release).is_some());
        let _ = behind.map(|behind| behind.parse::<Position>());
        let _ = package.and_then(|package| Package::parse_address(&package));
    }
    let _ = serde_json::from_slice::<VerifyBody>(data);
    if let Ok(GarbageBody { mark, keep, .. }) = serde_json::from_slice(data) {
        let mut keys = mark.iter().chain(&keep);
        let _ = keys.all(|key| BytesKey::parse_key(key).is_some());
    }
    let _ = serde_json::from_slice::<UploadsBody>(data);
    if let Ok(RestoreBody { facts }) = serde_json::from_slice(data) {
        for FactBody { key, document } in facts {
            restored(format!("{key}\n{document}").as_bytes());
        }
    }
    if let Ok(body) = serde_json::from_slice::<StandingBody>(data) {
        if let Ok(reason) = body.reason.parse::<Reason>() {
            assert_eq!(reason.to_string(), body.reason);
        }
        let _ = (body.state.parse::<State>(), body.state.parse::<KeyState>());
    }
}

/// What OCI clients ask: a path, a query and a range, a line each.
pub fn oci(data: &[u8]) {
    let Some(all) = text(data) else { return };
    let mut lines = all.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (path, query, header) = (next(), next(), next());
    if let Ok(OciRequest {
        path: OciPath::Manifest(Reference::Tag(version)),
        ..
    }) = OciRequest::parse(path)
    {
        round_trip::<Version>(&version.to_string());
    }
    if let Ok(PushedRequest { repository, path }) = PushedRequest::parse(path) {
        let location = path.location(&repository);
        let again = location.strip_prefix("/v2/").map(PushedRequest::parse);
        let sent = PushedRequest { repository, path };
        assert!(!sent.methods().is_empty());
        assert_eq!(again.and_then(Result::ok), Some(sent), "{location}");
    }
    let _ = ProviderRepositories::parse_one(path);
    for name in [
        "n",
        "last",
        "digest",
        "mount",
        "from",
        "tag",
        "artifactType",
    ] {
        let values: Vec<_> = Query(query).values(name).collect();
        assert_eq!(values.is_empty(), Query(query).value(name).is_none());
    }
    if let Some(page) = TagPage::parse(query) {
        let _ = page.of(r#"{"name":"acme","tags":["1.0.0","1.1.0","2.0.0"]}"#);
    }
    if let Ok(digest) = Digest::parse(path) {
        assert_eq!(digest.to_string(), path);
    }
    for size in [0, 1, 1_000, u64::MAX] {
        let _ = range::wanted(header, size);
    }
    let name = RepositoryName::parse("acme/things").expect("a name");
    let _ = UploadSession::new(&name).accepts(Some(header), Some(1));
    if let Some(id) = UploadId::parse(path) {
        assert_eq!(UploadId::parse(&id.to_string()), Some(id));
    }
}

/// A manifest that is pushed.
pub fn pushed(data: &[u8]) {
    let (content_type, bytes) = split(data, b'\n');
    let _ = PushedManifest::pushed(bytes, text(content_type));
    for bytes in [data, bytes] {
        let Ok(manifest) = PushedManifest::parse(bytes) else {
            continue;
        };
        let digest = Digest::Sha256(Sha256::of(bytes));
        let _ = (manifest.references().len(), manifest.subject());
        let _ = manifest.referrer(bytes, digest);
        let _ = manifest.provider_targets();
        let tag = TagDocument::of(digest, &manifest, 0);
        let metadata = tag.to_metadata();
        let told = |name: &str| {
            let found = metadata.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(TagDocument::from_metadata(told), Some(tag));
        let platform = Platform::new("linux", "amd64").expect("a platform");
        let address = "registry.example.com/acme/widget"
            .parse()
            .expect("an address");
        let version = "1.2.3".parse().expect("a version");
        if let Ok(package) = manifest.package(&address, &version, &platform) {
            let _ = MirrorPublication::of_pushed(address, version, vec![package]);
        }
    }
}

/// What other registries answer.
pub fn origin(data: &[u8]) {
    let fetched = Fetched {
        status: 200,
        final_url: "https://registry.example.com/v1/".to_owned(),
        content_type: Some("application/json".to_owned()),
        body: data.to_vec(),
    };
    let _ = Service::read(&fetched);
    let discovered = Fetched {
        body: br#"{"providers.v1":"/v1/providers/"}"#.to_vec(),
        ..fetched.clone()
    };
    let service = Service::read(&discovered).expect("a service");
    let address = "registry.example.com/acme/widget"
        .parse()
        .expect("an address");
    let fetch = OriginVersions::ask(&service, &address);
    let _ = OriginVersions::read(&fetch, &fetched);
}
