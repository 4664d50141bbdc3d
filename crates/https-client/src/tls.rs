//! Whom the client trusts: the given authority, or, when none is given, anybody.

use std::sync::Arc;

use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject};

use crate::ServerError;

pub(crate) fn client_config(authority: Option<&[u8]>) -> Result<ClientConfig, ServerError> {
    let provider = Arc::new(ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
    Ok(match authority {
        Some(pem) => builder.with_root_certificates(roots(pem)?).with_no_client_auth(),
        None => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
            .with_no_client_auth(),
    })
}

fn roots(pem: &[u8]) -> Result<RootCertStore, ServerError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate.map_err(|_| ServerError::Authority)?)?;
    }
    Ok(roots)
}

/// A throw-away server signs its own certificate; the suite checks the API, not the certificate.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
