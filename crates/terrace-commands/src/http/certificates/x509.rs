//! The few fields of a certificate (RFC 5280, section 4.1) that explain why clients reject it.

use terrace_base::time::UnixTime;

/// The tags of DER that are read.
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// A certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Certificate {
    /// The name of the authority that signed it, encoded.
    issuer: Vec<u8>,
    /// Its own name, encoded.
    subject: Vec<u8>,
    /// Its public key, encoded.
    key: Vec<u8>,
    pub(crate) not_before: UnixTime,
    pub(crate) not_after: UnixTime,
}

impl Certificate {
    /// Parses a certificate; `None` if it is not one.
    pub(in crate::http) fn parse(der: &[u8]) -> Option<Self> {
        let mut outer = Der(der);
        let mut certificate = Der(outer.take(SEQUENCE)?);
        let mut fields = Der(certificate.take(SEQUENCE)?);
        if fields.0.first() == Some(&VERSION) {
            fields.next()?;
        }
        // The serial number and the algorithm of the signature.
        fields.next()?;
        fields.take(SEQUENCE)?;
        let issuer = fields.take(SEQUENCE)?.to_vec();
        let mut validity = Der(fields.take(SEQUENCE)?);
        let not_before = time(validity.next()?)?;
        let not_after = time(validity.next()?)?;
        let subject = fields.take(SEQUENCE)?.to_vec();
        let key = fields.take(SEQUENCE)?.to_vec();
        Some(Self {
            issuer,
            subject,
            key,
            not_before,
            not_after,
        })
    }

    /// Returns whether the certificate names itself as the authority that signed it.
    pub(crate) fn is_self_signed(&self) -> bool {
        self.issuer == self.subject
    }

    /// Returns whether both certificates have the same name and the same key, as it decides about trust.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (&self.subject, &self.key) == (&other.subject, &other.key)
    }

    /// Returns whether the other certificate belongs to the authority that signed this one.
    pub(crate) fn is_signed_by(&self, other: &Self) -> bool {
        self.issuer == other.subject
    }
}

/// The rest of a DER encoding.
struct Der<'d>(&'d [u8]);

impl<'d> Der<'d> {
    /// Takes the next element: its tag and its contents.
    fn next(&mut self) -> Option<(u8, &'d [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            short @ 0..=0x7f => (usize::from(*short), rest),
            long @ 0x81..=0x84 => {
                let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                let add = |sum: usize, byte: &u8| (sum << 8) | usize::from(*byte);
                (digits.iter().fold(0, add), rest)
            }
            _ => return None,
        };
        let (contents, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, contents))
    }

    /// Takes the contents of the next element if it has this tag.
    fn take(&mut self, tag: u8) -> Option<&'d [u8]> {
        let (found, contents) = self.next()?;
        (found == tag).then_some(contents)
    }
}

/// Parses a time: `YYMMDDHHMMSSZ`, of a year from 1950 to 2049, or `YYYYMMDDHHMMSSZ`. One before 1970 is 1970, and one
/// that is further away than this type reaches does not occur.
fn time((tag, text): (u8, &[u8])) -> Option<UnixTime> {
    let text = std::str::from_utf8(text).ok()?;
    let whole = match tag {
        GENERALIZED_TIME => text.to_owned(),
        UTC_TIME if text.get(..2)? < "50" => format!("20{text}"),
        UTC_TIME => format!("19{text}"),
        _ => return None,
    };
    let digits = whole.strip_suffix('Z')?;
    let part = |from: usize, to: usize| digits.get(from..to);
    if digits.len() != 14 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if part(0, 4)? < "1970" {
        return Some(UnixTime(0));
    }
    let [year, month, day] = [part(0, 4)?, part(4, 6)?, part(6, 8)?];
    let [hour, minute, second] = [part(8, 10)?, part(10, 12)?, part(12, 14)?];
    UnixTime::parse_utc(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z"))
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;

    use super::*;

    #[test]
    fn the_dates_and_names_of_a_certificate_are_read() {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../terrace-cli/tests/fixtures/tls/cert.pem"
        );
        let der = CertificateDer::from_pem_file(file).unwrap();
        let certificate = Certificate::parse(&der).unwrap();
        assert!(certificate.not_before < certificate.not_after);
        assert!(certificate.is_self_signed());
        assert!(certificate.is_signed_by(&certificate));
    }

    #[test]
    fn a_cut_or_foreign_encoding_is_no_certificate() {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../terrace-cli/tests/fixtures/tls/cert.pem"
        );
        let der = CertificateDer::from_pem_file(file).unwrap();
        for end in 0..200.min(der.len()) {
            assert_eq!(Certificate::parse(der.get(..end).unwrap()), None, "{end}");
        }
        assert_eq!(
            Certificate::parse(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]),
            None
        );
        assert_eq!(Certificate::parse(b"<html>"), None);
    }

    #[test]
    fn both_forms_of_a_time_are_read() {
        let expected = UnixTime::parse_utc("2031-02-03T04:05:06Z");
        assert_eq!(time((UTC_TIME, b"310203040506Z")), expected);
        assert_eq!(time((GENERALIZED_TIME, b"20310203040506Z")), expected);
        assert_eq!(time((UTC_TIME, b"500203040506Z")), Some(UnixTime(0)));
        for wrong in [&b"3102030405Z"[..], b"310203040506", b"31020304050aZ", b""] {
            assert_eq!(time((UTC_TIME, wrong)), None);
        }
    }
}
