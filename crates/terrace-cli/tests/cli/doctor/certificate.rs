//! Certificates with chosen dates, names and issuers, signed with the key in `fixtures/tls`.

use std::fs;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::SigningKey;
use rustls::{ServerConfig, SignatureScheme};
use terrace_base::time::UnixTime;

use super::sound::now;
use crate::support::fixture;

const SEQUENCE: u8 = 0x30;
/// ecdsa-with-SHA256
const ALGORITHM: [u8; 10] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];
const ALTERNATIVE_NAMES: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x11];
const CONSTRAINTS: [u8; 5] = [0x06, 0x03, 0x55, 0x1d, 0x13];
const TRUE: [u8; 3] = [0x01, 0x01, 0xff];

/// The properties of a certificate.
#[derive(Clone, Copy)]
pub(crate) struct Template {
    pub(crate) subject: &'static str,
    pub(crate) issuer: &'static str,
    /// The address of the server; none for an authority.
    pub(crate) address: Option<[u8; 4]>,
    /// The name of the server, in place of an address.
    pub(crate) name: Option<&'static str>,
    /// Whether it is one of an authority, in spite of an address or a name.
    pub(crate) is_authority: bool,
    /// The days until its end, which may be past.
    pub(crate) days: i64,
}

impl Template {
    /// A certificate of a server that signed it itself.
    pub(crate) const SERVER: Self = Self {
        subject: "server",
        issuer: "server",
        address: Some([127, 0, 0, 1]),
        name: None,
        is_authority: false,
        days: 365,
    };
}

fn key() -> PrivateKeyDer<'static> {
    PrivateKeyDer::try_from(fs::read(fixture("tls/key.der")).unwrap()).unwrap()
}

fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let contents = parts.concat();
    let mut all = vec![tag];
    match contents.len() {
        short @ 0..0x80 => all.push(u8::try_from(short).unwrap()),
        long @ 0x80..0x100 => all.extend([0x81, u8::try_from(long).unwrap()]),
        long => {
            let [high, low] = u16::try_from(long).unwrap().to_be_bytes();
            all.extend([0x82, high, low]);
        }
    }
    all.extend(contents);
    all
}

fn name(text: &str) -> Vec<u8> {
    let value = der(0x0c, &[text.as_bytes()]);
    let attribute = der(SEQUENCE, &[&COMMON_NAME, &value]);
    der(SEQUENCE, &[&der(0x31, &[&attribute])])
}

fn time(time: UnixTime) -> Vec<u8> {
    let text = time.amz_date().replace('T', "");
    der(0x17, &[&text.as_bytes()[2..]])
}

/// Returns a certificate.
pub(crate) fn certificate(template: Template) -> CertificateDer<'static> {
    let key: Arc<dyn SigningKey> = ring::sign::any_supported_type(&key()).unwrap();
    let public = key.public_key().unwrap();
    let algorithm = der(SEQUENCE, &[&ALGORITHM]);
    let end = i64::try_from(now().0).unwrap() + template.days * 86_400;
    let end = UnixTime(u64::try_from(end).unwrap());
    let start = UnixTime(end.0 - 400 * 86_400);
    let named = template.name.map(|name| der(0x82, &[name.as_bytes()]));
    let addressed = template.address.map(|address| der(0x87, &[&address]));
    let subject = named.or(addressed);
    let constraints = (subject.is_none() || template.is_authority).then(|| {
        let constraints = der(SEQUENCE, &[&TRUE]);
        let value = der(0x04, &[&constraints]);
        der(SEQUENCE, &[&CONSTRAINTS, &TRUE, &value])
    });
    let names = subject.map(|subject| {
        let value = der(0x04, &[&der(SEQUENCE, &[&subject])]);
        der(SEQUENCE, &[&ALTERNATIVE_NAMES, &value])
    });
    let extensions = [constraints, names].into_iter().flatten();
    let extensions = extensions.collect::<Vec<_>>().concat();
    let contents = der(
        SEQUENCE,
        &[
            &der(0xa0, &[&[0x02, 0x01, 0x02]]),
            &[0x02, 0x01, 0x07],
            &algorithm,
            &name(template.issuer),
            &der(SEQUENCE, &[&time(start), &time(end)]),
            &name(template.subject),
            public.as_ref(),
            &der(0xa3, &[&der(SEQUENCE, &[&extensions])]),
        ],
    );
    let signer = key
        .choose_scheme(&[SignatureScheme::ECDSA_NISTP256_SHA256])
        .unwrap();
    let signature = signer.sign(&contents).unwrap();
    let signature = der(0x03, &[&[0], &signature]);
    der(SEQUENCE, &[&contents, &algorithm, &signature]).into()
}

/// Returns the configuration of a server that sends these certificates.
pub(crate) fn serving(chain: &[Template]) -> Arc<ServerConfig> {
    let chain = chain
        .iter()
        .map(|template| certificate(*template))
        .collect();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key())
        .unwrap();
    Arc::new(config)
}

/// Returns a certificate for `SSL_CERT_FILE`.
pub(crate) fn pem(template: Template) -> String {
    let text = STANDARD.encode(certificate(template));
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}
