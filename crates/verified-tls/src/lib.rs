//! Whom to believe who they are: whoever the system's authorities vouch for, or one given to us.

use std::{fs, io, sync::Arc};

use rustls::{CertificateError, ClientConfig, Error, RootCertStore};
use rustls_pki_types::{CertificateDer, pem::PemObject as _};

/// Where systems keep the authorities they trust.
const SYSTEM_BUNDLES: [&str; 6] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// `authorities` in PEM are trusted beside the system's. Without any nobody can be believed.
pub fn client_config(authorities: &[u8]) -> Result<Arc<ClientConfig>, String> {
    let mut bundle = SYSTEM_BUNDLES
        .iter()
        .find_map(|path| fs::read(path).ok())
        .unwrap_or_default();
    bundle.push(b'\n');
    bundle.extend(authorities);
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&bundle).filter_map(Result::ok));
    if roots.is_empty() {
        return Err(
            "this system has no certificate authorities to trust (package `ca-certificates`)".to_owned(),
        );
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// A failed handshake in the words people search for.
pub fn describe(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    let Some(Error::InvalidCertificate(reason)) = inner else {
        return error.to_string();
    };
    let why = match reason {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "certificate signed by unknown authority".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "certificate has expired or is not yet valid".to_owned()
        }
        other => other.to_string(),
    };
    format!("tls: failed to verify certificate: x509: {why}")
}
