//! Whether what somebody asks to have signed is a certificate request, signed by the key it is for.

use kinds::objects::certificate_signing_request::encoded_request;
use manifests::field::{FieldError, Path};
use serde_json::{Value, json};
use x509_parser::{
    certification_request::X509CertificationRequest,
    prelude::{FromDer, X509Error},
    public_key::PublicKey,
};

use crate::kind::Kind;

/// Adds what is wrong with the request of a signing request; that there is none is said elsewhere.
pub(crate) fn validate(kind: &Kind, object: &Value, errors: &mut Vec<FieldError>) {
    if !kind.is("certificates.k8s.io", "CertificateSigningRequest") {
        return;
    }
    let Some(encoded) = encoded_request(object) else {
        return;
    };
    if let Err(why) = check(&encoded) {
        let sent = kinds::read::text(kinds::read::get(object, "spec"), "request");
        let path = Path::new("spec").child("request");
        errors.push(FieldError::invalid(&path, &json!(sent), why));
    }
}

fn check(encoded: &[u8]) -> Result<(), String> {
    use x509_parser::nom::{
        Err::{Error, Incomplete},
        error::ErrorKind,
    };
    let (rest, request) = X509CertificationRequest::from_der(encoded).map_err(|error| match error {
        _ if encoded.is_empty() => "asn1: syntax error: sequence truncated".to_owned(),
        Incomplete(_) | Error(X509Error::NomError(ErrorKind::Eof)) => {
            "asn1: syntax error: data truncated".to_owned()
        }
        // The real server goes on to print the tags, as its decoder sees them.
        _ => "asn1: structure error: tags don't match".to_owned(),
    })?;
    if !rest.is_empty() {
        return Err("asn1: syntax error: trailing data".to_owned());
    }
    if request.verify_signature().is_ok() {
        return Ok(());
    }
    let key = request.certification_request_info.subject_pki.parsed();
    Err(match key {
        Ok(PublicKey::RSA(_)) => "crypto/rsa: verification error",
        Ok(PublicKey::EC(_)) => "x509: ECDSA verification failure",
        _ => "x509: Ed25519 verification failure",
    }
    .to_owned())
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    #[test]
    fn a_request_must_be_whole_and_signed_by_its_own_key() {
        let key = KeyPair::generate().unwrap();
        let request = CertificateParams::default().serialize_request(&key).unwrap();
        let good = request.der().to_vec();
        assert_eq!(check(&good), Ok(()));
        let mut forged = good.clone();
        *forged.last_mut().unwrap() ^= 1;
        assert_eq!(check(&forged), Err("x509: ECDSA verification failure".to_owned()));
        let mut long = good.clone();
        long.push(0);
        assert_eq!(check(&long), Err("asn1: syntax error: trailing data".to_owned()));
        assert!(check(b"hello").is_err());
        assert_eq!(
            check(b""),
            Err("asn1: syntax error: sequence truncated".to_owned())
        );
        assert_eq!(
            check(&good[..good.len() - 5]),
            Err("asn1: syntax error: data truncated".to_owned())
        );
    }
}
