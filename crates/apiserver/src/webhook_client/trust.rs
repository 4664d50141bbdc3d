//! Whom to believe to be a webhook: whoever a certificate of its bundle vouches for, or the system's
//! authorities when it brings none. As in the real server, a serving certificate that is itself in
//! the bundle is good, whatever else it says.

use std::{
    fs,
    sync::{Arc, LazyLock},
};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::CryptoProvider,
    server::ParsedCertificate,
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject};

/// Where systems keep the authorities they trust.
const SYSTEM_BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// How to talk to a webhook that this bundle vouches for.
pub(super) fn client_config(bundle: &[u8]) -> Result<Arc<ClientConfig>, String> {
    if bundle.is_empty() {
        return SYSTEM.clone();
    }
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(bundle)
        .filter_map(Result::ok)
        .collect();
    if certificates.is_empty() {
        return Err("unable to load root certificates: unable to parse bytes as PEM block".to_owned());
    }
    config_for(certificates)
}

static SYSTEM: LazyLock<Result<Arc<ClientConfig>, String>> = LazyLock::new(|| {
    let bundle = SYSTEM_BUNDLES
        .iter()
        .find_map(|path| fs::read(path).ok())
        .unwrap_or_default();
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&bundle)
        .filter_map(Result::ok)
        .collect();
    if certificates.is_empty() {
        return Err(
            "the webhook has no caBundle, and this system has no authorities to trust instead".to_owned(),
        );
    }
    config_for(certificates)
});

fn config_for(certificates: Vec<CertificateDer<'static>>) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates.iter().cloned());
    let by_authority = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    let verifier = Verifier {
        by_authority: by_authority.map_err(|error| format!("unable to load root certificates: {error}"))?,
        certificates,
        provider: provider.clone(),
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[derive(Debug)]
struct Verifier {
    by_authority: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    /// A certificate that is trusted by itself still has to be for this name and this time.
    fn verify_known(
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        let encoding = || Error::InvalidCertificate(CertificateError::BadEncoding);
        let (_, parsed) = x509_parser::parse_x509_certificate(certificate).map_err(|_| encoding())?;
        let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        if seconds > parsed.validity().not_after.timestamp() {
            return Err(CertificateError::Expired.into());
        }
        if seconds < parsed.validity().not_before.timestamp() {
            return Err(CertificateError::NotValidYet.into());
        }
        verify_server_name(&ParsedCertificate::try_from(certificate)?, name)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.certificates.iter().any(|known| known == certificate) {
            Self::verify_known(certificate, name, now)?;
            return Ok(ServerCertVerified::assertion());
        }
        self.by_authority
            .verify_server_cert(certificate, intermediates, name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.by_authority.supported_verify_schemes()
    }
}

/// A certificate is compared by its names or by its addresses, as whoever called it was called.
fn wrong_name(expected: &ServerName<'_>, presented: &[String]) -> String {
    let is_address = matches!(expected, ServerName::IpAddress(_));
    let prefix = if is_address { "IpAddress(" } else { "DnsName(" };
    let names: Vec<&str> = presented
        .iter()
        .filter_map(|name| name.strip_prefix(prefix)?.strip_suffix(')'))
        .map(|name| name.trim_matches('"'))
        .collect();
    let expected = expected.to_str();
    match names.as_slice() {
        [] if is_address => {
            format!("cannot validate certificate for {expected} because it doesn't contain any IP SANs")
        }
        [] => format!("certificate is not valid for any names, but wanted to match {expected}"),
        names => format!("certificate is valid for {}, not {expected}", names.join(", ")),
    }
}

/// A failed handshake in the words of the real server, which people search for.
pub(super) fn describe(error: &std::io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::InvalidCertificate(CertificateError::BadEncoding)) => {
            "tls: failed to parse certificate from server: x509: malformed certificate".to_owned()
        }
        Some(Error::InvalidCertificate(reason)) => {
            format!("tls: failed to verify certificate: x509: {}", distrust(reason))
        }
        Some(Error::InvalidMessage(_)) => "tls: first record does not look like a TLS handshake".to_owned(),
        Some(Error::AlertReceived(alert)) => format!("remote error: tls: {}", spaced(&format!("{alert:?}"))),
        _ if error.kind() == std::io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        _ => error.to_string(),
    }
}

/// Why a certificate is not believed. Whatever else is wrong with its chain leaves nobody to vouch
/// for it.
fn distrust(reason: &CertificateError) -> String {
    const TIME: &str = "certificate has expired or is not yet valid";
    match reason {
        CertificateError::ExpiredContext { time, not_after } => {
            format!(
                "{TIME}: current time {} is after {}",
                moment(*time),
                moment(*not_after)
            )
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            format!(
                "{TIME}: current time {} is before {}",
                moment(*time),
                moment(*not_before)
            )
        }
        CertificateError::Expired | CertificateError::NotValidYet => TIME.to_owned(),
        CertificateError::NotValidForNameContext { expected, presented } => wrong_name(expected, presented),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "certificate specifies an incompatible key usage".to_owned()
        }
        CertificateError::UnhandledCriticalExtension => "unhandled critical extension".to_owned(),
        _ => "certificate signed by unknown authority".to_owned(),
    }
}

fn moment(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), crate::writes::timestamp)
}

/// `HandshakeFailure` as `handshake failure`.
fn spaced(name: &str) -> String {
    let mut words = String::new();
    for (index, letter) in name.char_indices() {
        if letter.is_uppercase() && index > 0 {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(error: Error) -> String {
        describe(&std::io::Error::new(std::io::ErrorKind::InvalidData, error))
    }

    #[test]
    fn a_failed_handshake_is_told_in_the_words_of_the_real_server() {
        let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
        assert_eq!(described(CertificateError::UnknownIssuer.into()), unknown);
        let other = rustls::OtherError(Arc::new(std::fmt::Error));
        assert_eq!(described(CertificateError::Other(other).into()), unknown);
        let expired = CertificateError::ExpiredContext {
            time: UnixTime::since_unix_epoch(std::time::Duration::from_hours(1)),
            not_after: UnixTime::since_unix_epoch(std::time::Duration::ZERO),
        };
        assert_eq!(
            described(expired.into()),
            "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 1970-01-01T01:00:00Z is after 1970-01-01T00:00:00Z"
        );
        assert_eq!(
            described(Error::AlertReceived(rustls::AlertDescription::HandshakeFailure)),
            "remote error: tls: handshake failure"
        );
    }

    #[test]
    fn a_certificate_without_names_is_for_nobody() {
        let name = ServerName::try_from("hook.ns.svc").unwrap();
        assert_eq!(
            wrong_name(&name, &[]),
            "certificate is not valid for any names, but wanted to match hook.ns.svc"
        );
    }
}
