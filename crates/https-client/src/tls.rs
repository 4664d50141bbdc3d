//! Whom the client trusts: the given authority, or, when none is given, anybody.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_pki_types::{CertificateDer, pem::PemObject};

use crate::ServerError;

pub(crate) fn client_config(authority: Option<&[u8]>) -> Result<ClientConfig, ServerError> {
    let Some(pem) = authority else {
        // A throw-away server signs its own certificate; the suite checks the API, not the certificate.
        return Ok(unverified_tls::client_config()?);
    };
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(roots(pem)?).with_no_client_auth())
}

fn roots(pem: &[u8]) -> Result<RootCertStore, ServerError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate.map_err(|_| ServerError::Authority)?)?;
    }
    Ok(roots)
}
