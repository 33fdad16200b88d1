//! Verdicts of the core about cases that another program makes, to be compared with the verdicts of
//! the libraries inside the clients.
//!
//! It reads frames from its standard input, each a kind (one byte), a length (four bytes,
//! little-endian) and a case, and answers each with a line of JSON: whether the case is accepted,
//! the rules that refuse it, and the content that was read of an accepted case.

use std::fmt::{Debug, Display};
use std::io::{self, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use terrace_archive::{
    ArchiveError, Entry, EntryKind, InstallError, Step, ZipInspector, check_module_archive,
    inspect_tar_gz,
};
use terrace_base::time::UnixTime;
use terrace_jose::{IssuerKeys, UnverifiedToken};
use terrace_openpgp::{detached_signature, parse_signing_keys, verify_detached};

/// The issuer and the audience that tokens must have.
const ISSUER: &str = "https://issuer.example.com";
const AUDIENCE: &str = "terrace";

fn main() -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    while let Some((kind, case)) = read_frame(&mut input)? {
        let verdict = match kind {
            b'z' => zip(&case),
            b't' => module(inspect_tar_gz(&case)),
            b'p' => openpgp(&case)?,
            b'j' => token(&case)?,
            other => return Err(io::Error::other(format!("no kind {other}"))),
        };
        writeln!(output, "{verdict}")?;
        output.flush()?;
    }
    Ok(())
}

fn read_frame(input: &mut impl Read) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut kind = [0];
    if input.read(&mut kind)? == 0 {
        return Ok(None);
    }
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let mut case = vec![0; u32::from_le_bytes(length) as usize];
    input.read_exact(&mut case)?;
    let [kind] = kind;
    Ok(Some((kind, case)))
}

/// The next part of a case that has several: its length, as that of a frame, and its bytes.
fn part<'a>(case: &mut &'a [u8]) -> io::Result<&'a [u8]> {
    let cut_off = || io::Error::other("a part is cut off");
    let (length, rest) = case.split_first_chunk().ok_or_else(cut_off)?;
    let length = u32::from_le_bytes(*length) as usize;
    let (part, rest) = rest.split_at_checked(length).ok_or_else(cut_off)?;
    *case = rest;
    Ok(part)
}

fn number(case: &mut &[u8]) -> io::Result<u64> {
    let part = part(case)?;
    let bytes = part.try_into().map_err(io::Error::other)?;
    Ok(u64::from_le_bytes(bytes))
}

fn accepted(name: &str, read_as: impl Into<Value>) -> Value {
    let mut verdict = Map::new();
    verdict.insert("accepted".into(), true.into());
    verdict.insert(name.into(), read_as.into());
    verdict.into()
}

fn refused<T: Display>(stage: &str, reasons: &[T], rule: impl Fn(&T) -> String) -> Value {
    let rules = reasons
        .iter()
        .map(|reason| format!("{stage}{}", rule(reason)));
    let messages = reasons.iter().map(ToString::to_string);
    json!({
        "accepted": false,
        "rules": rules.collect::<Vec<_>>(),
        "messages": messages.collect::<Vec<_>>(),
    })
}

/// The name of an enum's variant.
fn variant(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    let name = text.chars().take_while(|c| c.is_ascii_alphanumeric());
    name.collect()
}

fn zip(case: &[u8]) -> Value {
    let mut inspector = ZipInspector::with_contents(case.len() as u64);
    while let Step::Read { offset, len } = inspector.next() {
        let bytes = usize::try_from(offset)
            .ok()
            .zip(usize::try_from(len).ok())
            .and_then(|(offset, len)| case.get(offset..)?.get(..len));
        if inspector.feed(bytes.unwrap_or_default()).is_err() {
            break;
        }
    }
    module(inspector.finish())
}

fn module(entries: Result<Vec<Entry>, ArchiveError>) -> Value {
    let entries = match entries {
        Ok(entries) => entries,
        Err(error) => return refused("", &[error], archive_rule),
    };
    let reasons = check_module_archive(&entries, None);
    if reasons.is_empty() {
        accepted("entries", entries.iter().map(entry).collect::<Vec<_>>())
    } else {
        refused("", &reasons, reason_rule)
    }
}

fn archive_rule(error: &ArchiveError) -> String {
    match error {
        ArchiveError::ZipContent { fault, .. } => format!("ZipContent/{}", variant(fault)),
        other => variant(other),
    }
}

fn reason_rule(reason: &InstallError) -> String {
    match reason {
        InstallError::Path { fault, .. } => format!("Path/{}", variant(fault)),
        other => variant(other),
    }
}

fn entry(entry: &Entry) -> Value {
    let kind = match entry.kind {
        EntryKind::File => "file",
        EntryKind::Directory => "directory",
        EntryKind::Symlink => "symlink",
        EntryKind::HardLink => "hard link",
        EntryKind::Other => "other",
    };
    let permissions = entry.unix_mode.map(|mode| mode & 0o777);
    json!({ "name": entry.name, "kind": kind, "size": entry.uncompressed, "mode": permissions })
}

/// The parts are the time, the keys in armour, the signed text, and the signature. Of an accepted case it returns the
/// keys and the signature as they are served to clients.
fn openpgp(mut case: &[u8]) -> io::Result<Value> {
    let now = number(&mut case)?;
    let (keys, signed, signature) = (part(&mut case)?, part(&mut case)?, part(&mut case)?);
    let keys = match parse_signing_keys(&String::from_utf8_lossy(keys)) {
        Ok(keys) => keys,
        Err(error) => return Ok(refused("key ", &[error], variant)),
    };
    let signature = match detached_signature(signature) {
        Ok(signature) => signature,
        Err(error) => return Ok(refused("signature ", &[error], variant)),
    };
    if let Err(error) = verify_detached(&keys, signed, &signature, now) {
        return Ok(refused("check ", &[error], variant));
    }
    let keys: Vec<&str> = keys.iter().map(|key| key.ascii_armor()).collect();
    let served = json!({ "keys": keys, "signature": STANDARD.encode(signature) });
    Ok(accepted("served", served))
}

/// The parts are the time, the keys of the issuer as JSON, and the token. Of an accepted case it returns the claims.
fn token(mut case: &[u8]) -> io::Result<Value> {
    let now = UnixTime(number(&mut case)?);
    let (keys, token) = (part(&mut case)?, part(&mut case)?);
    let issuer = ISSUER.parse().map_err(io::Error::other)?;
    let keys = match IssuerKeys::parse(&issuer, keys) {
        Ok(keys) => keys,
        Err(error) => return Ok(refused("keys ", &[error], variant)),
    };
    let token = String::from_utf8_lossy(token);
    let token = UnverifiedToken::parse(&token);
    let claims = token.and_then(|token| token.verify(&keys, &[AUDIENCE], now));
    Ok(match claims {
        Ok(claims) => accepted("claims", claims.members().clone()),
        Err(refusal) => refused("token ", &[refusal], variant),
    })
}
